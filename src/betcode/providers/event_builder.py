"""Builds the events of one record, from the dialogue's state and the record's time."""

from typing import Generic, Protocol, TypeVar

from betcode.domain.store.rows import NewSession
from betcode.v1 import agent_pb2 as v1

_NS = 1_000_000_000
_UINT32 = 2**32 - 1
_UINT64 = 2**64 - 1
_MOST_DOLLARS = 1e12


class BuilderState(Protocol):
    """What every dialogue's state has."""

    status: int  # last said
    bad_lines: int  # in a row
    errors: list[str]  # the last lines of stderr
    error_notices: int


StateT = TypeVar("StateT", bound=BuilderState)


class EventBuilder(Generic[StateT]):
    """What a record means is said here, in order; each provider adds what its own dialogue looks at."""

    __slots__ = ("events", "mono_ns", "session", "state", "wall_ns")

    def __init__(self, state: StateT, session: NewSession, wall_ns: int, mono_ns: int) -> None:
        self.state = state
        self.session = session
        self.wall_ns = wall_ns
        self.mono_ns = mono_ns
        self.events: list[v1.AgentEvent] = []

    def new_event(self, parent: str = "") -> v1.AgentEvent:
        """A new event with the record's time, to be filled in."""
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
        """Say the status unless it is the one last said."""
        if self.state.status != status:
            self.status(status)


def uint32(value: float) -> int:
    """Clamped to what the field holds."""
    return int(min(max(0, value), _UINT32))  # in this order: what is no number becomes 0


def uint64(value: float) -> int:
    """Clamped to what the field holds."""
    return int(min(max(0, value), _UINT64))


def dollars(value: float) -> float:
    """What can be added up: neither negative nor endless nor no number at all."""
    return value if 0.0 <= value <= _MOST_DOLLARS else 0.0
