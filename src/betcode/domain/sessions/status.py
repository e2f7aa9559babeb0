"""The states of a session, as a table."""

from collections.abc import Mapping
from enum import Enum, StrEnum


class SessionStatus(StrEnum):
    NEW = "new"  # it never had a message
    ACTIVE = "active"  # a turn is open
    IDLE = "idle"  # no turn is open; its agent may be warm
    CLOSED = "closed"


class SessionStimulus(Enum):
    TURN_OPENED = "turn opened"
    TURN_CLOSED = "turn closed"
    CLOSED = "closed"


class IllegalSessionTransition(Exception):
    """The table has no such pair."""


NEXT: Mapping[tuple[SessionStatus, SessionStimulus], SessionStatus] = {
    (SessionStatus.NEW, SessionStimulus.TURN_OPENED): SessionStatus.ACTIVE,
    (SessionStatus.IDLE, SessionStimulus.TURN_OPENED): SessionStatus.ACTIVE,
    (SessionStatus.ACTIVE, SessionStimulus.TURN_CLOSED): SessionStatus.IDLE,
    (SessionStatus.NEW, SessionStimulus.CLOSED): SessionStatus.CLOSED,
    (SessionStatus.IDLE, SessionStimulus.CLOSED): SessionStatus.CLOSED,
    (SessionStatus.ACTIVE, SessionStimulus.CLOSED): SessionStatus.CLOSED,
}


def advance(status: SessionStatus, stimulus: SessionStimulus) -> SessionStatus:
    """Return the status after `stimulus`.

    Raises:
        IllegalSessionTransition: the table has no such pair.
    """
    try:
        return NEXT[status, stimulus]
    except KeyError:
        raise IllegalSessionTransition(f"{status} does not know {stimulus.value}") from None
