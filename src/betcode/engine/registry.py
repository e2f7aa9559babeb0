"""The open sessions: opened on use, released when idle."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from betcode.domain.errors import BetcodeError, SessionFailed, SessionNotFound, UnknownProvider
from betcode.domain.ports import Provider
from betcode.domain.store.rows import SessionRow
from betcode.domain.values.identifiers import SessionId
from betcode.engine.context import EngineContext
from betcode.engine.shell.session import LiveSession
from betcode.engine.shell.session_failure import describe

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Registry:
    """The one place where a session becomes a `LiveSession`: there are never two of the same."""

    context: EngineContext
    live: dict[SessionId, LiveSession] = field(default_factory=dict)
    _opening: anyio.Lock = field(default_factory=anyio.Lock)

    async def row(self, session: SessionId) -> SessionRow:
        """Raises SessionNotFound."""
        row = await self.context.store.find_session(session)
        if row is None:
            raise SessionNotFound(session)
        live = self.live.get(session)
        return row if live is None else replace(row, state=live.writer.state)

    @asynccontextmanager
    async def using(self, session: SessionId) -> AsyncIterator[LiveSession]:
        """The session, open for as long as the block lasts.

        Raises:
            SessionNotFound, AgentUnavailable, SessionFailed
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
        """Raises SessionNotFound, AgentUnavailable, SessionFailed."""
        async with self._opening:
            live = self.live.get(session)
            if live is None:
                row = await self.context.store.find_session(session)
                if row is None:
                    raise SessionNotFound(session)
                provider = self.context.providers.get(row.new.provider)
                if provider is None:
                    raise UnknownProvider(row.new.provider)
                live = await self._loaded(row, provider)
                self.live[session] = live
            return live

    async def _loaded(self, row: SessionRow, provider: Provider) -> LiveSession:
        """Raises SessionFailed where its rows cannot be used."""
        session = row.new.session_id
        try:
            live = LiveSession(self.context, row, provider)
            await live.load()
        except BetcodeError:
            raise
        except Exception as error:
            logger.exception("the session cannot be opened", extra={"session_id": session})
            raise SessionFailed(session, f"it cannot be opened ({describe(error)})") from error
        return live

    def report_failure(self, session: SessionId, place: str, error: Exception) -> None:
        """An unexpected error in work of the engine that concerned this session alone."""
        live = self.live.get(session)
        if live is not None:
            live.failure.report(place, error)

    def forget_disposable(self) -> None:
        """Let go of those that nothing happens to."""
        for session, live in list(self.live.items()):
            if live.disposable:
                del self.live[session]
