"""Makes a worktree the active one of its repository, with a session to continue in."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio

from betcode.domain.errors import WorktreeUnusable
from betcode.domain.repositories.worktrees import WorktreeState
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.util import wall_clock
from betcode.worktrees.catalog.problems import why_unusable
from betcode.worktrees.catalog.registry import SeenWorktree, WorktreeRegistry
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.repository_queue import RepositoryQueues

logger = logging.getLogger(__name__)

StartAs = Callable[[], NewSession]  # asked for only where a session has to be made


@dataclass(frozen=True, slots=True)
class SwitchResult:
    seen: SeenWorktree
    previous: str  # the id of the one that was active before; empty: none was
    session: SessionId
    session_created: bool


class WorktreeSwitcher:
    """One switch of a repository at a time, so that two at once make one session; work on it is not waited for."""

    def __init__(self, context: WorktreeContext, registry: WorktreeRegistry) -> None:
        self._context = context
        self._registry = registry
        self._turns = RepositoryQueues()

    async def switch(self, worktree: str, start_as: StartAs) -> SwitchResult:
        """Make this worktree active, with its session or a new one as `start_as` says. No agent is started.

        Raises:
            WorktreeNotFound, WorktreeUnusable, InvalidRequest, GitFailed, StorageDegraded: and nothing is switched.
        """
        row = await self._registry.find(worktree)
        async with self._turns.turn(row.repository):
            seen = await self._registry.seen_one(row.id)
            if seen.row.state is not WorktreeState.READY:
                raise WorktreeUnusable(why_unusable(seen.row), worktree_id=row.id)
            with anyio.CancelScope(shield=True):  # the caller may disconnect between the two writes
                done = await self._go(seen, start_as)
        return done

    async def _go(self, seen: SeenWorktree, start_as: StartAs) -> SwitchResult:
        context, row = self._context, seen.row
        session = SessionId(seen.sessions.active)
        created = not session
        if created:
            session = await context.sessions.create(
                replace(start_as(), worktree_id=row.id, working_directory=row.path, subdirectory="")
            )
        now_ns = wall_clock.now_ns()
        previous = await context.store.set_active(row.repository, row.id, now_ns)
        logger.info("switched to a worktree", extra={"worktree": row.name, "path": row.path, "session_id": session})
        sessions = (await context.store.sessions_of([row.id])).get(row.id, seen.sessions)
        now = SeenWorktree(
            replace(seen.repository, active_worktree=row.id, last_used_ns=now_ns),
            replace(row, last_used_ns=now_ns),
            seen.git,
            sessions,
        )
        return SwitchResult(now, previous, session, created)
