"""The front door of everything about worktrees."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from betcode.config.settings import Settings
from betcode.domain.worktrees import WorktreeStore
from betcode.git.running import Git
from betcode.worktrees.registry import Registry, SeenWorktree
from betcode.worktrees.room import Faults, Sessions, Trust, WorktreeRoom, no_faults

logger = logging.getLogger(__name__)


class Worktrees:
    """What people and programs may ask; made by `open_worktrees`."""

    def __init__(self, room: WorktreeRoom) -> None:
        self._room = room
        self.registry = Registry(room)

    def use(self, settings: Settings) -> None:
        """Go on with other settings."""
        self._room.settings = settings

    async def listed(self, repo_path: str) -> list[SeenWorktree]:
        """The worktrees of the repository that a directory belongs to; with an empty path those of all that are known.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        if not repo_path:
            return await self.registry.seen_everywhere()
        return await self.registry.seen(await self.registry.repository_of(repo_path))


@asynccontextmanager
async def open_worktrees(
    store: WorktreeStore,
    git: Git,
    sessions: Sessions,
    settings: Settings,
    state_dir: Path,
    *,
    is_trusted: Trust,
    environment: Callable[[], Awaitable[Mapping[str, str]]],
    faults: Faults = no_faults,
) -> AsyncIterator[Worktrees]:
    """Serve until the block is left; what is under way then is broken off, and taken up by the next daemon."""
    async with anyio.create_task_group() as tasks:
        room = WorktreeRoom(store, git, sessions, settings, state_dir, is_trusted, environment, tasks, faults)
        yield Worktrees(room)
        tasks.cancel_scope.cancel()
