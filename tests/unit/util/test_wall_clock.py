"""What is stored of the time fits in 64 bits, with room for deadlines."""

import time

import pytest

from betcode.util.wall_clock import LATEST_NS, now_ns

_YEAR_NS = 365 * 86_400 * 10**9


@pytest.mark.parametrize(
    ("shown", "taken"),
    [
        (1_800_000_000 * 10**9, 1_800_000_000 * 10**9),
        (LATEST_NS, LATEST_NS),
        (LATEST_NS + 1, LATEST_NS),
        (2**63, LATEST_NS),
        (2**80, LATEST_NS),
    ],
)
def test_a_clock_beyond_the_range_stands_still(monkeypatch: pytest.MonkeyPatch, shown: int, taken: int) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: shown)
    assert now_ns() == taken
    assert now_ns() + 5 * _YEAR_NS < 2**63
