"""Sums of heights equal a plain count."""

from hypothesis import given
from hypothesis import strategies as st

from betcode.tui.view.heights import Heights

_HEIGHTS = st.lists(st.integers(0, 20), max_size=60)


@given(_HEIGHTS, st.lists(st.tuples(st.integers(0, 59), st.integers(0, 20)), max_size=20), _HEIGHTS)
def test_sums_and_searches_are_those_of_counting(
    first: list[int], changes: list[tuple[int, int]], more: list[int]
) -> None:
    heights, plain = Heights(first), list(first)
    for height in more:
        heights.append(height)
        plain.append(height)
    for index, height in changes:
        if index < len(plain):
            heights.put(index, height)
            plain[index] = height
    assert heights.total == sum(plain)
    assert [heights.above(index) for index in range(len(plain) + 1)] == [
        sum(plain[:at]) for at in range(len(plain) + 1)
    ]
    counted = [(index, line) for index, height in enumerate(plain) for line in range(height)]
    assert [heights.find(line) for line in range(len(counted))] == counted


def test_beyond_the_end_is_the_last_line() -> None:
    assert Heights([2, 3]).find(99) == (1, 2)
