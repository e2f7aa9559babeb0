"""The front door of everything about worktrees."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from betcode.config.settings import Settings
from betcode.domain.worktrees import WorktreeId, WorktreeStore
from betcode.git.running import Git
from betcode.worktrees.choosing import Wanted
from betcode.worktrees.creating import Creating
from betcode.worktrees.diffs import Diffs
from betcode.worktrees.output import Feed, Output
from betcode.worktrees.recovery import begun, take_up_what_was_begun
from betcode.worktrees.registry import Registry, SeenWorktree
from betcode.worktrees.room import Faults, Sessions, Trust, WorktreeRoom, no_faults
from betcode.worktrees.setup import Setups
from betcode.worktrees.snapshots import Snapshots
from betcode.worktrees.work import Work, begin

logger = logging.getLogger(__name__)


class Worktrees:
    """What people and programs may ask; made by `open_worktrees`."""

    def __init__(self, room: WorktreeRoom, snapshots: Snapshots) -> None:
        self._room = room
        self.registry = Registry(room)
        self._setups = Setups(room, self.registry)
        self._creating = Creating(room, self.registry, self._setups)
        self.diffs = Diffs(room, self.registry, snapshots)
        self._snapshots = snapshots

    def use(self, settings: Settings) -> None:
        """Go on with other settings."""
        self._room.settings = settings
        self._snapshots.use(settings)

    async def listed(self, repo_path: str) -> list[SeenWorktree]:
        """The worktrees of the repository that a directory belongs to; with an empty path those of all that are known.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        if not repo_path:
            return await self.registry.seen_everywhere()
        return await self.registry.seen(await self.registry.repository_of(repo_path))

    def create(self, wanted: Wanted) -> Work[SeenWorktree]:
        """Have a worktree made; the result may raise what `Creating.create` raises."""

        async def work(feed: Feed) -> SeenWorktree:
            return await self.registry.seen_one((await self._creating.create(wanted, feed)).id)

        return begin(self._room.tasks, work)

    def set_up(self, worktree: WorktreeId) -> Work[SeenWorktree]:
        """Have the setup of a worktree run, again or for the first time; the result may raise what that raises."""

        async def work(feed: Feed) -> SeenWorktree:
            return await self.registry.seen_one((await self._setups.again(worktree, feed)).id)

        return begin(self._room.tasks, work)

    async def setup_output(self, worktree: WorktreeId) -> list[Output]:
        """What the last setup wrote, as far as it is kept.

        Raises:
            WorktreeNotFound
        """
        return await self._setups.output(worktree)


@asynccontextmanager
async def open_worktrees(
    store: WorktreeStore,
    git: Git,
    sessions: Sessions,
    settings: Settings,
    state_dir: Path,
    snapshots: Snapshots,
    *,
    is_trusted: Trust,
    environment: Callable[[], Awaitable[Mapping[str, str]]],
    faults: Faults = no_faults,
    fixed: frozenset[str] = frozenset(),
    user_file: Path | None = None,
    umask: int = -1,
) -> AsyncIterator[Worktrees]:
    """Serve until the block is left; what is under way then is broken off, and taken up by the next daemon."""
    async with anyio.create_task_group() as tasks:
        room = WorktreeRoom(
            store, git, sessions, settings, state_dir, is_trusted, environment, tasks, faults, fixed, user_file, umask
        )
        worktrees = Worktrees(room, snapshots)
        left = begun(await store.worktrees())  # read before anybody can begin something new
        tasks.start_soon(take_up_what_was_begun, room, worktrees.registry, left)
        yield worktrees
        tasks.cancel_scope.cancel()
