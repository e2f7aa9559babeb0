"""One record being translated: the state it meets, its time, and the events it makes."""

import uuid

from betcode.domain.records import Record
from betcode.domain.rows import NewSession
from betcode.providers.acp.profile import Profile
from betcode.providers.acp.state import State
from betcode.v1 import agent_pb2 as v1

_NS = 1_000_000_000
_UINT32 = 2**32 - 1
_UINT64 = 2**64 - 1
_MOST_DOLLARS = 1e12
_OURS = uuid.UUID("5f0c2c0e-7d3b-5e0a-9b3e-6f0a4d1b2c33")


class Moment:
    __slots__ = ("events", "mode", "mono_ns", "offset", "profile", "session", "state", "wall_ns")

    def __init__(
        self,
        state: State,
        session: NewSession,
        profile: Profile,
        record: Record | None,
        now_ns: int = 0,
        mode: str = "",
    ) -> None:
        self.mode = mode  # that the session's client wants
        self.state = state
        self.session = session
        self.profile = profile
        self.wall_ns = record.wall_ns if record else now_ns
        self.mono_ns = record.mono_ns if record else 0
        self.offset = record.offset if record else 0
        self.events: list[v1.AgentEvent] = []

    def unique(self, name: str) -> str:
        """An id that nothing else has, in whatever session; the same whenever the record is read."""
        return str(uuid.uuid5(_OURS, f"{self.session.session_id}\0{self.wall_ns}\0{self.offset}\0{name}"))

    def say(self) -> v1.AgentEvent:
        """A new event with the record's time, to be filled in."""
        event = v1.AgentEvent()
        stamp = event.timestamp
        stamp.seconds, stamp.nanos = divmod(self.wall_ns, _NS)
        self.events.append(event)
        return event

    def notice(self, kind: v1.NoticeKind.ValueType, message: str, /, **details: str) -> None:
        notice = self.say().notice
        notice.kind = kind
        notice.message = message
        for name, value in details.items():
            if value:
                notice.details[name] = value

    def status(self, status: v1.AgentStatus.ValueType, message: str = "") -> None:
        self.state.status = status
        change = self.say().status_change
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
    return int(min(max(0, value), _UINT64))


def dollars(value: float) -> float:
    """What can be added up: neither negative nor endless nor no number at all."""
    return value if 0.0 <= value <= _MOST_DOLLARS else 0.0
