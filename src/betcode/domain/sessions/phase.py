"""The phase of a session in its lifecycle, derived from facts; the obey API calls this its status."""

from dataclasses import dataclass
from enum import StrEnum

from betcode.domain.sessions.status import SessionStatus
from betcode.domain.values.identifiers import SessionId


class Phase(StrEnum):
    CREATED = "created"  # no agent was ever started for it
    STARTING = "starting"
    RUNNING = "running"  # a message can be sent; its agent may be warm, or is started for the next message
    WORKING = "working"  # a turn is open
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def is_terminal(self) -> bool:
        return self in (Phase.STOPPED, Phase.FAILED)


@dataclass(frozen=True, slots=True)
class PhaseFacts:
    """The facts that determine a phase."""

    status: SessionStatus
    was_started: bool = False  # an agent was started for it once
    is_starting: bool = False  # one is being started, and cannot receive anything yet
    is_stopping: bool = False
    has_failed: bool = False  # an error closed it, or stopped it and no message was accepted since


def phase_of(facts: PhaseFacts) -> Phase:
    """The one phase of a session like this."""
    if facts.is_stopping:
        return Phase.STOPPING
    if facts.status is SessionStatus.CLOSED:
        return Phase.FAILED if facts.has_failed else Phase.STOPPED
    if facts.is_starting:
        return Phase.STARTING
    if facts.status is SessionStatus.ACTIVE:
        return Phase.WORKING
    if facts.has_failed:
        return Phase.FAILED
    if facts.status is SessionStatus.NEW and not facts.was_started:
        return Phase.CREATED
    return Phase.RUNNING


@dataclass(frozen=True, slots=True)
class Transition:
    """A session went from one phase to another; `before` is None for one that was just made."""

    session: SessionId
    before: Phase | None
    after: Phase
    words: str
    at_ns: int
