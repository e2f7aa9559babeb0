"""The transitions of an input's state as a table: a terminal state is final."""

from collections.abc import Mapping

from betcode.domain.store.rows import InputState

TERMINAL = frozenset({InputState.CONSUMED, InputState.CANCELLED, InputState.UNKNOWN})
OPEN = frozenset(InputState) - TERMINAL

NEXT: Mapping[InputState, frozenset[InputState]] = {
    InputState.ACCEPTED: TERMINAL | {InputState.DELIVERED},
    InputState.DELIVERED: TERMINAL | {InputState.DELIVERED},  # the next agent gets it again
    **{state: frozenset() for state in TERMINAL},
}


def may_become(before: InputState | None, after: InputState) -> bool:
    """Return whether an input may change from that state to the other one; None: it is not open, or unknown."""
    return before is not None and after in NEXT[before]
