"""The tools and models that agents reported for themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

from betcode.domain.store.rows import SessionState
from betcode.domain.store.store_ports import SessionFilter, Store
from betcode.domain.values.identifiers import Seq, SessionKey
from betcode.engine.core.counters import KIND_OF
from betcode.v1.agent_pb2 import AgentEvent

_LOOKED_AT = 20  # of the newest sessions, for what was said before this daemon began
_MODELS_LIMIT = 100


@dataclass(frozen=True, slots=True)
class AgentReport:
    tools: Sequence[str] = ()  # those of the agent that spoke last
    models: Sequence[str] = ()


class AgentReports:
    """Where it was said is noted turn by turn; what was said is read when somebody wants to know."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._said_at: tuple[SessionKey, int] | None = None
        self._read_at: tuple[SessionKey, int] | None = None
        self._tools: tuple[str, ...] = ()
        self._models: dict[str, None] = {}
        self._has_looked = False

    def note(self, session: SessionKey, state: SessionState) -> None:
        """An agent has finished a turn of that session."""
        if state.landmarks.info:
            self._said_at = (session, state.landmarks.info)
        if state.model and len(self._models) < _MODELS_LIMIT:
            self._models[state.model] = None

    async def all(self) -> AgentReport:
        if not self._has_looked:
            rows, _ = await self._store.list_sessions(SessionFilter(limit=_LOOKED_AT))
            self._has_looked = True  # a database that could not be read is asked again
            newest = self._said_at
            for row in reversed(rows):  # the newest last, so that it is the one that stays
                self.note(row.key, row.state)
            self._said_at = newest or self._said_at
        if self._said_at != self._read_at and self._said_at is not None:
            key, seq = newest = self._said_at
            said = await self._store.newest_of_kind(key, KIND_OF["session_info"], Seq(seq))
            self._read_at = newest
            if said:
                info = AgentEvent.FromString(said).session_info
                self._tools = tuple(info.tools)
                self._models |= dict.fromkeys(info.models)
        return AgentReport(self._tools, tuple(self._models)[:_MODELS_LIMIT])
