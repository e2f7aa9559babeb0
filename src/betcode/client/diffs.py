"""Read the changes of sessions and worktrees."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from betcode.client.connection import Connection
from betcode.client.stream import messages_of
from betcode.v1.agent_pb2 import DiffSessionRequest
from betcode.v1.worktree_pb2 import DiffChunk, DiffWorktreeRequest
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub


@dataclass(frozen=True, slots=True)
class DiffReader:
    """Reads patches in pieces of any length; a piece may carry a note for the reader."""

    connection: Connection

    def of_session(self, session_id: str, *, turn: int = 0, counts: bool = False) -> AsyncGenerator[DiffChunk, None]:
        """Yield the changes of a session in one turn, or in all. Hold it in `aclosing`."""
        request = DiffSessionRequest(session_id=session_id, turn=turn, stat_only=counts)
        return self._read(self.connection.stub.DiffSession, request)

    def of_worktree(self, worktree_id: str, *, base: str = "", counts: bool = False) -> AsyncGenerator[DiffChunk, None]:
        """Yield the changes of a worktree against its base. Hold it in `aclosing`."""
        request = DiffWorktreeRequest(worktree_id=worktree_id, base=base, stat_only=counts)
        return self._read(WorktreeServiceStub(self.connection.channel).DiffWorktree, request)

    async def _read(
        self, method: Any, request: DiffSessionRequest | DiffWorktreeRequest
    ) -> AsyncGenerator[DiffChunk, None]:
        call = method(request, metadata=self.connection.metadata)
        async with aclosing(messages_of(call, DiffChunk)) as chunks:
            async for chunk in chunks:
                yield chunk
