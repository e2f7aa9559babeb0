"""The states of a run, the lifetime of one agent process, as a table."""

from collections.abc import Mapping
from enum import Enum, IntEnum, StrEnum


class RunState(StrEnum):
    SPAWNING = "spawning"
    RUNNING = "running"
    EXITED = "exited"  # it ended, as asked or with no turn open
    BACKING_OFF = "backing_off"  # it ended in the middle of a turn; another continues after a wait
    CRASHED = "crashed"  # its final state: either another run has replaced it or none will automatically


class RunStimulus(Enum):
    AGENT_READY = "agent ready"
    AGENT_EXITED = "agent exited"
    AGENT_CRASHED = "agent crashed"
    RETRY_DUE = "retry due"
    GIVEN_UP = "given up"  # too many crashes, one that never heals, or a person who cancels


class CancelStep(IntEnum):
    """How far a cancel has escalated; a step is only followed by a later one."""

    NONE = 0
    INTERRUPTED = 1  # it was asked to stop the turn
    SIGNALLED = 2  # it did not; SIGINT
    ENDING = 3  # nor then; its holder ends it, with everything it started
    LEAVING = 4  # the turn is over, and an agent that needed a signal is replaced

    @property
    def owes_an_end(self) -> bool:
        """Return whether the turn must still be ended, by the agent or, if it has exited, by us."""
        return CancelStep.NONE < self < CancelStep.LEAVING

    @property
    def ends_agent(self) -> bool:
        """Return whether the agent gets no more input, and its exit is no crash."""
        return self >= CancelStep.SIGNALLED

    def after_turn(self) -> "CancelStep":
        """Return the step after the agent itself has ended the turn, as cancelled or otherwise."""
        return CancelStep.LEAVING if self.ends_agent else CancelStep.NONE


class IllegalRunTransition(Exception):
    """The table has no such pair."""


LIVE = frozenset({RunState.SPAWNING, RunState.RUNNING})

NEXT: Mapping[tuple[RunState, RunStimulus], RunState] = {
    (RunState.SPAWNING, RunStimulus.AGENT_READY): RunState.RUNNING,
    (RunState.SPAWNING, RunStimulus.AGENT_EXITED): RunState.EXITED,
    (RunState.SPAWNING, RunStimulus.AGENT_CRASHED): RunState.BACKING_OFF,
    (RunState.RUNNING, RunStimulus.AGENT_EXITED): RunState.EXITED,
    (RunState.RUNNING, RunStimulus.AGENT_CRASHED): RunState.BACKING_OFF,
    (RunState.BACKING_OFF, RunStimulus.RETRY_DUE): RunState.CRASHED,
    (RunState.BACKING_OFF, RunStimulus.GIVEN_UP): RunState.CRASHED,
}


def advance(state: RunState, stimulus: RunStimulus) -> RunState:
    """Return the state after `stimulus`.

    Raises:
        IllegalRunTransition: the table has no such pair.
    """
    try:
        return NEXT[state, stimulus]
    except KeyError:
        raise IllegalRunTransition(f"{state} does not know {stimulus.value}") from None
