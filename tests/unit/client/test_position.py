"""The position of a client in a log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.client.follow import Position
from betcode.v1.agent_pb2 import AgentEvent


def events(numbers: list[int]) -> list[AgentEvent]:
    return [AgentEvent(sequence=number) for number in numbers]


@pytest.mark.behaviour("reconnect.deduplicates")
@given(st.integers(0, 20), st.lists(st.integers(1, 20), max_size=60))
def test_each_number_comes_through_at_most_once_and_in_order(after: int, numbers: list[int]) -> None:
    position = Position(after)
    seen = [event.sequence for event in position.fresh(events(numbers))]
    assert seen == sorted(set(seen))
    assert all(number > after for number in seen)
    assert position.after == max([after, *seen])


def test_unnumbered_events_pass_and_do_not_move_the_position() -> None:
    position = Position(5)
    assert len(position.fresh(events([0, 0]))) == 2
    assert position.after == 5


def test_seen_events_are_dropped_from_the_middle_of_a_batch() -> None:
    position = Position(2)
    assert [event.sequence for event in position.fresh(events([1, 0, 3, 3, 2, 4]))] == [0, 3, 4]
    assert position.after == 4
