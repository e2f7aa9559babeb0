"""Which sessions are open: opened when something happens to them, let go when nothing does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from betcode.domain.errors import SessionNotFound, UnknownProvider
from betcode.domain.identifiers import SessionId
from betcode.domain.rows import SessionRow
from betcode.sessions.live import LiveSession
from betcode.sessions.room import Room


@dataclass(slots=True)
class Registry:
    """The one place where a session becomes a `LiveSession`: there are never two of the same."""

    room: Room
    live: dict[SessionId, LiveSession] = field(default_factory=dict)
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    async def row(self, session: SessionId) -> SessionRow:
        """Raises SessionNotFound."""
        row = await self.room.store.find_session(session)
        if row is None:
            raise SessionNotFound(session)
        live = self.live.get(session)
        return row if live is None else replace(row, state=live.writer.state)

    @asynccontextmanager
    async def using(self, session: SessionId) -> AsyncIterator[LiveSession]:
        """The session, open for as long as the block lasts.

        Raises:
            SessionNotFound, AgentUnavailable
        """
        live = await self.open(session)
        live.users += 1
        try:
            yield live
        finally:
            live.users -= 1
            if live.disposable and self.live.get(session) is live:
                del self.live[session]

    async def open(self, session: SessionId) -> LiveSession:
        """Raises SessionNotFound, AgentUnavailable."""
        async with self._opening:
            live = self.live.get(session)
            if live is None:
                row = await self.room.store.find_session(session)
                if row is None:
                    raise SessionNotFound(session)
                provider = self.room.providers.get(row.new.provider)
                if provider is None:
                    raise UnknownProvider(row.new.provider)
                live = LiveSession(self.room, row, provider)
                await live.load()
                self.live[session] = live
            return live

    def forget_disposable(self) -> None:
        """Let go of those that nothing happens to."""
        for session, live in list(self.live.items()):
            if live.disposable:
                del self.live[session]
