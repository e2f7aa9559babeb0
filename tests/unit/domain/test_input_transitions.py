"""An input reaches one terminal state and keeps it."""

import pytest

from betcode.domain.sessions.input_transitions import NEXT, OPEN, TERMINAL, may_become
from betcode.domain.store.rows import InputState


def test_every_state_has_a_row_and_is_open_or_terminal() -> None:
    assert set(NEXT) == set(InputState) == OPEN | TERMINAL
    assert not OPEN & TERMINAL


@pytest.mark.parametrize("before", sorted(TERMINAL))
@pytest.mark.parametrize("after", list(InputState))
def test_a_terminal_state_is_final(before: InputState, after: InputState) -> None:
    assert not may_become(before, after)


@pytest.mark.parametrize("before", sorted(OPEN))
@pytest.mark.parametrize("after", [*sorted(TERMINAL), InputState.DELIVERED])
def test_an_open_input_may_be_delivered_again_and_may_end(before: InputState, after: InputState) -> None:
    assert may_become(before, after)


def test_nothing_is_accepted_twice_and_what_is_not_open_does_not_move() -> None:
    assert not any(may_become(before, InputState.ACCEPTED) for before in InputState)
    assert not any(may_become(None, after) for after in InputState)
