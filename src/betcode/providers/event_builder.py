"""Builds the events of one record, from the dialogue's state and the record's time."""

from typing import Generic, Protocol, TypeVar

from betcode.domain.store.rows import NewSession
from betcode.v1 import agent_pb2 as v1

_NS = 1_000_000_000
_UINT32 = 2**32 - 1
_UINT64 = 2**64 - 1
_MOST_DOLLARS = 1e12


class BuilderState(Protocol):
    """The fields of every dialogue's state that the builder uses."""

    status: int  # the last one reported
    bad_lines: int  # in a row
    errors: list[str]  # the last lines of stderr
    error_notices: int


StateT = TypeVar("StateT", bound=BuilderState)


class EventBuilder(Generic[StateT]):
    """Collects the events of one record, in order. Each provider adds fields for its own dialogue."""

    __slots__ = ("events", "mono_ns", "session", "state", "wall_ns")

    def __init__(self, state: StateT, session: NewSession, wall_ns: int, mono_ns: int) -> None:
        self.state = state
        self.session = session
        self.wall_ns = wall_ns
        self.mono_ns = mono_ns
        self.events: list[v1.AgentEvent] = []

    def new_event(self, parent: str = "") -> v1.AgentEvent:
        """Add an empty event with the record's time."""
        event = v1.AgentEvent()
        stamp = event.timestamp
        stamp.seconds, stamp.nanos = divmod(self.wall_ns, _NS)
        if parent:
            event.parent_tool_use_id = parent
        self.events.append(event)
        return event

    def notice(self, kind: v1.NoticeKind.ValueType, message: str, /, **details: str) -> None:
        notice = self.new_event().notice
        notice.kind = kind
        notice.message = message
        for name, value in details.items():
            if value:
                notice.details[name] = value

    def status(self, status: v1.AgentStatus.ValueType, message: str = "") -> None:
        self.state.status = status
        change = self.new_event().status_change
        change.status = status
        change.message = message

    def turn_to(self, status: v1.AgentStatus.ValueType) -> None:
        """Report the status, unless it is unchanged."""
        if self.state.status != status:
            self.status(status)


def uint32(value: float) -> int:
    """Clamp to the range of the field."""
    return int(min(max(0, value), _UINT32))  # in this order, so that NaN becomes 0


def uint64(value: float) -> int:
    """Clamp to the range of the field."""
    return int(min(max(0, value), _UINT64))


def dollars(value: float) -> float:
    """Return the amount, or 0 if it is negative, infinite or NaN, so that amounts can be added."""
    return value if 0.0 <= value <= _MOST_DOLLARS else 0.0
