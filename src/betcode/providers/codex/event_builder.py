"""Builds the events of one record of Codex."""

from uuid import NAMESPACE_URL, uuid5

from betcode.domain.runs.journal_record import Record
from betcode.domain.store.rows import NewSession
from betcode.providers import event_builder
from betcode.providers.codex.state import State


class CodexEventBuilder(event_builder.EventBuilder[State]):
    __slots__ = ("_place",)

    def __init__(self, state: State, session: NewSession, record: Record | None, wall_ns: int = 0) -> None:
        if record is None:
            super().__init__(state, session, wall_ns, 0)
        else:
            super().__init__(state, session, record.wall_ns, record.mono_ns)
        self._place = record.offset if record is not None else 0

    def prompt_id(self, rpc_id: int | str) -> str:
        """An id for a request of the agent's that no other of any session has; the same whenever this is read."""
        return str(uuid5(NAMESPACE_URL, f"{self.session.session_id}/{self.wall_ns}/{self._place}/{rpc_id}"))
