"""Builds the events of one record of an ACP agent."""

import uuid

from betcode.domain.runs.journal_record import Record
from betcode.domain.store.rows import NewSession
from betcode.providers import event_builder
from betcode.providers.acp.profile import Profile
from betcode.providers.acp.state import State

_OURS = uuid.UUID("5f0c2c0e-7d3b-5e0a-9b3e-6f0a4d1b2c33")


class AcpEventBuilder(event_builder.EventBuilder[State]):
    __slots__ = ("mode", "offset", "profile")

    def __init__(
        self,
        state: State,
        session: NewSession,
        profile: Profile,
        record: Record | None,
        now_ns: int = 0,
        mode: str = "",
    ) -> None:
        if record is None:
            super().__init__(state, session, now_ns, 0)
        else:
            super().__init__(state, session, record.wall_ns, record.mono_ns)
        self.mode = mode  # requested by the session's client
        self.profile = profile
        self.offset = record.offset if record is not None else 0

    def unique(self, name: str) -> str:
        """Return an id that is unique across sessions, and the same each time the record is read."""
        return str(uuid.uuid5(_OURS, f"{self.session.session_id}\0{self.wall_ns}\0{self.offset}\0{name}"))
