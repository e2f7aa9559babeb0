"""Find one session by id or prefix."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from betcode.v1.agent_pb2 import SessionSummary


class SessionSource(Protocol):
    """Yields every session, newest first."""

    def all_sessions(self) -> AsyncGenerator[SessionSummary, None]: ...


async def summary_of(client: SessionSource, session_id: str) -> SessionSummary | None:
    """Return the current summary; None if there is no such session."""
    async with aclosing(client.all_sessions()) as sessions:
        async for one in sessions:
            if one.id == session_id:
                return one
    return None
