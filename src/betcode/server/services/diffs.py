"""Stream the changes of sessions and worktrees as git writes them."""

from contextlib import AbstractAsyncContextManager

from betcode.engine import Engine
from betcode.server.rpc import Caller, Context
from betcode.v1 import agent_pb2, worktree_pb2
from betcode.worktrees import TurnDiff, Worktrees


class DiffCalls:
    """One method per call."""

    def __init__(self, engine: Engine, worktrees: Worktrees) -> None:
        self._engine = engine
        self._diffs = worktrees.diffs

    async def diff_session(self, _: Caller, request: agent_pb2.DiffSessionRequest, context: Context) -> None:
        session = await self._engine.resolve(request.session_id)
        row = (await self._engine.summary(session)).row
        await _write(self._diffs.of_session(row, request.turn, counts=request.stat_only), context)

    async def diff_worktree(self, _: Caller, request: worktree_pb2.DiffWorktreeRequest, context: Context) -> None:
        await _write(
            self._diffs.of_worktree(request.worktree_id, request.base, counts=request.stat_only),
            context,
        )


async def _write(opened: AbstractAsyncContextManager[TurnDiff], context: Context) -> None:
    """Write the notice first, so that readers see it before the rest."""
    async with opened as diff:
        if diff.note:
            await context.write(worktree_pb2.DiffChunk(note=diff.note).SerializeToString())
        async for piece in diff.pieces:
            await context.write(worktree_pb2.DiffChunk(data=piece).SerializeToString())
