"""Durations as text."""

from datetime import timedelta

import pytest

from betcode.wording.times import nearly


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (timedelta(days=7) - timedelta(seconds=1), "7 d"),
        (timedelta(days=6, hours=11), "6 d"),
        (timedelta(hours=1, minutes=40), "2 h"),
        (timedelta(hours=23, minutes=59), "1 d"),
        (timedelta(seconds=59.7), "1 min"),
        (timedelta(seconds=3), "3 s"),
        (timedelta(seconds=-3), "0 s"),
    ],
)
def test_a_remaining_time_is_rounded_to_the_nearest_unit(left: timedelta, said: str) -> None:
    assert nearly(left) == said
