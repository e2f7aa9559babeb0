"""Slots: a bounded number of turns at work, the rest in line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.errors import PoolExhausted
from betcode.engine.agents.slots import Slots


class Taker:
    def __init__(self) -> None:
        self.granted = 0

    def slot_granted(self) -> None:
        self.granted += 1


def test_the_next_in_line_gets_what_is_given_back() -> None:
    slots = Slots(1, 10)
    first, second, third = Taker(), Taker(), Taker()
    for taker in (first, second, third):
        slots.ask(taker)
    assert (first.granted, second.granted, third.granted) == (1, 0, 0)
    slots.give_back(first)
    assert (second.granted, third.granted) == (1, 0)


def test_an_answered_turn_goes_before_those_that_have_not_begun() -> None:
    slots = Slots(1, 10)
    working, new, answered = Taker(), Taker(), Taker()
    slots.ask(working)
    slots.ask(new)
    slots.ask(answered, first=True)
    slots.give_back(working)
    assert (answered.granted, new.granted) == (1, 0)


@pytest.mark.behaviour("error.code.pool-exhausted")
def test_a_full_line_refuses() -> None:
    slots = Slots(1, 1)
    slots.ask(Taker())
    waiting = Taker()
    slots.admit(waiting)
    slots.ask(waiting)
    with pytest.raises(PoolExhausted, match="Subprocess pool at capacity"):
        slots.admit(Taker())
    slots.admit(waiting)  # who is in line already is not refused


def test_no_line_at_all_refuses_at_once() -> None:
    slots = Slots(1, 0)
    slots.admit(Taker())
    slots.ask(Taker())
    with pytest.raises(PoolExhausted):
        slots.admit(Taker())


@given(st.lists(st.tuples(st.sampled_from(["ask", "first", "take", "give"]), st.integers(0, 5)), max_size=60))
def test_nobody_waits_while_a_slot_is_free_and_nobody_has_two(steps: list[tuple[str, int]]) -> None:
    slots = Slots(2, 100)
    takers = [Taker() for _ in range(6)]
    forced = 0
    for verb, which in steps:
        taker = takers[which]
        match verb:
            case "ask":
                slots.ask(taker)
            case "first":
                slots.ask(taker, first=True)
            case "take":
                forced += not slots.has(taker)
                slots.take(taker)
            case _:
                slots.give_back(taker)
        assert slots.waiting == 0 or slots.at_work >= 2
        assert not any(slots.has(taker) and slots.is_waiting(taker) for taker in takers)
        assert slots.at_work <= 2 + forced
