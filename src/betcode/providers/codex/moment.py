"""One record being translated: the state it meets, its time, and the events it makes."""

from uuid import NAMESPACE_URL, uuid5

from betcode.domain.records import Record
from betcode.domain.rows import NewSession
from betcode.providers.codex.state import State
from betcode.v1 import agent_pb2 as v1

_NS = 1_000_000_000
_UINT32 = 2**32 - 1
_UINT64 = 2**64 - 1


class Moment:
    __slots__ = ("_place", "events", "mono_ns", "session", "state", "wall_ns")

    def __init__(self, state: State, session: NewSession, record: Record | None, wall_ns: int = 0) -> None:
        self.state = state
        self.session = session
        self.wall_ns = record.wall_ns if record is not None else wall_ns
        self.mono_ns = record.mono_ns if record is not None else 0
        self._place = record.offset if record is not None else 0
        self.events: list[v1.AgentEvent] = []

    def say(self, parent: str = "") -> v1.AgentEvent:
        """A new event with the record's time, to be filled in."""
        event = v1.AgentEvent()
        stamp = event.timestamp
        stamp.seconds, stamp.nanos = divmod(self.wall_ns, _NS)
        if parent:
            event.parent_tool_use_id = parent
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

    def prompt_id(self, rpc_id: int | str) -> str:
        """An id for a request of the agent's that no other of any session has; the same whenever this is read."""
        return str(uuid5(NAMESPACE_URL, f"{self.session.session_id}/{self.wall_ns}/{self._place}/{rpc_id}"))


def uint32(value: float) -> int:
    """Clamped to what the field holds."""
    return int(min(max(0, value), _UINT32))


def uint64(value: float) -> int:
    return int(min(max(0, value), _UINT64))
