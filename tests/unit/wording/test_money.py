"""Amounts of money."""

import pytest

from betcode.wording.money import dollars


@pytest.mark.parametrize(
    ("amount_usd", "shown"), [(0, ""), (0.0004, "<$0.01"), (0.006, "$0.01"), (0.25, "$0.25"), (12, "$12.00")]
)
def test_less_than_a_cent_is_not_nothing(amount_usd: float, shown: str) -> None:
    assert dollars(amount_usd) == shown
