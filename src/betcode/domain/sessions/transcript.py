"""How an agent's own transcript ends: with a finished turn, an interrupted one, or one that must not be continued.

Some agents, when they resume a conversation, can continue the turn that their transcript ends in. They cannot be told
which turn that is, so the engine keeps track of it: a turn that was cancelled or given up while its agent was gone
stays at the end of the transcript until a later turn has finished.
"""

from collections.abc import Mapping
from enum import Enum

_SETTLING_REASONS = frozenset({"end_turn", "cancelled"})


class TranscriptEnd(Enum):
    """The values are stored: whether a turn is to be continued, whether an abandoned one may come last."""

    FINISHED = (False, False)
    INTERRUPTED = (True, False)  # the next agent continues the last turn
    ABANDONED = (False, True)  # the last turn may be one that was cancelled or abandoned
    INTERRUPTED_AFTER_ABANDONED = (True, True)  # a newer turn was interrupted, and may have no trace in it

    @property
    def turn_interrupted(self) -> bool:
        """Return whether an agent died in a turn that is still to be finished."""
        return self.value[0]

    @property
    def may_be_abandoned(self) -> bool:
        return self.value[1]

    @property
    def is_continuable(self) -> bool:
        """Return whether an agent may be started with the order to continue the last turn."""
        return self is TranscriptEnd.INTERRUPTED

    def after(self, outcome: "TurnOutcome") -> "TranscriptEnd":
        return NEXT[self, outcome]


class TurnOutcome(Enum):
    FINISHED = "the agent itself ended the turn, and its transcript says so"
    BROKE_OFF = "the agent died in the turn, which is still wanted"
    ABANDONED = "the turn was cancelled or given up, and the transcript may not say so"


NEXT: Mapping[tuple[TranscriptEnd, TurnOutcome], TranscriptEnd] = {
    (TranscriptEnd.FINISHED, TurnOutcome.FINISHED): TranscriptEnd.FINISHED,
    (TranscriptEnd.FINISHED, TurnOutcome.BROKE_OFF): TranscriptEnd.INTERRUPTED,
    (TranscriptEnd.FINISHED, TurnOutcome.ABANDONED): TranscriptEnd.ABANDONED,
    (TranscriptEnd.INTERRUPTED, TurnOutcome.FINISHED): TranscriptEnd.FINISHED,
    (TranscriptEnd.INTERRUPTED, TurnOutcome.BROKE_OFF): TranscriptEnd.INTERRUPTED,
    (TranscriptEnd.INTERRUPTED, TurnOutcome.ABANDONED): TranscriptEnd.ABANDONED,
    (TranscriptEnd.ABANDONED, TurnOutcome.FINISHED): TranscriptEnd.FINISHED,
    (TranscriptEnd.ABANDONED, TurnOutcome.BROKE_OFF): TranscriptEnd.INTERRUPTED_AFTER_ABANDONED,
    (TranscriptEnd.ABANDONED, TurnOutcome.ABANDONED): TranscriptEnd.ABANDONED,
    (TranscriptEnd.INTERRUPTED_AFTER_ABANDONED, TurnOutcome.FINISHED): TranscriptEnd.FINISHED,
    (TranscriptEnd.INTERRUPTED_AFTER_ABANDONED, TurnOutcome.BROKE_OFF): TranscriptEnd.INTERRUPTED_AFTER_ABANDONED,
    (TranscriptEnd.INTERRUPTED_AFTER_ABANDONED, TurnOutcome.ABANDONED): TranscriptEnd.ABANDONED,
}


def outcome_of(stop_reason: str) -> TurnOutcome:
    """Return the effect on its transcript of a turn that the agent itself ended.

    Measured with Claude Code: a turn that an API error ended is run again by the next agent that may continue.
    """
    return TurnOutcome.FINISHED if stop_reason in _SETTLING_REASONS else TurnOutcome.ABANDONED
