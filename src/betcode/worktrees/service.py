"""The front door of everything about worktrees."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.lowlevel
from anyio.abc import ObjectReceiveStream

from betcode.config.settings import Settings
from betcode.domain.errors import GitFailed
from betcode.domain.repositories.worktrees import RepositoryRow, WorktreeId, WorktreeRow, WorktreeStore
from betcode.git.command import Git
from betcode.util.background_loops import keep_running, run_once
from betcode.worktrees.background_work import Work, begin
from betcode.worktrees.catalog.branches import SeenBranch, branches
from betcode.worktrees.catalog.registry import Registry, SeenWorktree
from betcode.worktrees.catalog.startup_check import reconcile
from betcode.worktrees.catalog.switch import StartAs, Switched, Switching
from betcode.worktrees.context import Faults, Sessions, Trust, WorktreeRoom, no_faults
from betcode.worktrees.create.create import Creating
from betcode.worktrees.create.plan import Wanted
from betcode.worktrees.create.recovery import begun, take_up_what_was_begun
from betcode.worktrees.create.setup import Setups
from betcode.worktrees.create.setup_output import Feed, Output
from betcode.worktrees.inspect.contents import Contents
from betcode.worktrees.inspect.inspect import inspect
from betcode.worktrees.inspect.report import Report, open_reports
from betcode.worktrees.remove.expiry import keep_trash
from betcode.worktrees.remove.recovery import finish_or_take_back
from betcode.worktrees.remove.remove import Done, Removing
from betcode.worktrees.remove.restore import Restoring
from betcode.worktrees.remove.trash import Removed, Trash
from betcode.worktrees.session_worktree import Placing
from betcode.worktrees.turns.diffs import Diffs
from betcode.worktrees.turns.snapshots import Snapshots

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Worktrees:
    """What people and programs may ask; made by `open_worktrees`."""

    def __init__(self, room: WorktreeRoom, snapshots: Snapshots) -> None:
        self._room = room
        self.registry = Registry(room)
        self.placing = Placing(room, self.registry)
        self._switching = Switching(room, self.registry)
        self._setups = Setups(room, self.registry)
        self._trash = Trash(room)
        self._removing = Removing(room, self.registry, self._trash)
        self._creating = Creating(room, self.registry, self._setups, self._removing)
        self._restoring = Restoring(room, self.registry, self._trash)
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
        return await self.registry.seen(await self.registry.repositories.of(repo_path))

    async def switch(self, worktree: str, start_as: StartAs) -> Switched:
        """Make it the active one of its repository, with its session or a new one as `start_as` says.

        Raises:
            WorktreeNotFound, WorktreeUnusable, InvalidRequest, GitFailed, StorageDegraded: and nothing is switched.
        """
        return await self._switching.switch(worktree, start_as)

    async def repositories(self) -> list[tuple[RepositoryRow, int]]:
        """Those that are known, each with the number of its worktrees; from the rows alone."""
        counts = Counter(row.repository for row in await self._room.store.worktrees())
        return [(row, counts[row.id]) for row in await self._room.store.repositories()]

    async def branches(self, repo_path: str, *, remote: bool) -> list[SeenBranch]:
        """The branches of the repository that a directory belongs to, the newest first.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        return await branches(self._room, self.registry, repo_path, remote=remote)

    async def names(self, worktrees: Collection[str]) -> Mapping[str, str]:
        """What worktrees are called, by their ids; those that are not known are left out."""
        return await self._room.store.names(worktrees) if any(worktrees) else {}

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

    async def inspect(self, text: str) -> Contents:
        """What would be lost if a worktree were removed now.

        Raises:
            WorktreeNotFound, WorktreeUnusable, GitFailed
        """
        return await inspect(self._room.git, await self.registry.seen_one((await self.registry.find(text)).id))

    async def remove(self, text: str, *, force: bool, by: str = "") -> Done:
        """Remove a worktree; it goes on when the caller leaves.

        Raises:
            WorktreeNotFound, WorktreeUnusable, WorktreeHasChanges, GitFailed, StorageDegraded
        """
        worktree = (await self.registry.find(text)).id
        return await self._undertaken(partial(self._removing.remove, worktree, force=force, by=by))

    async def forget(self, text: str) -> None:
        """Forget a worktree that is not there any more.

        Raises:
            WorktreeNotFound, WorktreeUnusable, GitFailed
        """
        await self._removing.forget((await self.registry.find(text)).id)

    async def removed(self, repo_path: str) -> list[Removed]:
        """What can be restored in a repository, or in all that are known and can be read.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        if repo_path:
            return await self._trash.removed_from(await self.registry.repositories.of(repo_path))
        found: list[Removed] = []
        for repository in await self._room.store.repositories():
            with suppress(GitFailed):
                found += await self._trash.removed_from(repository)
        return found

    def kept_until_ns(self, removed: Removed) -> int:
        return removed.removed_ns + self._trash.keep_ns

    async def restore(self, repo_path: str, wanted: str, path: str) -> SeenWorktree:
        """Bring a removed worktree back; it goes on when the caller leaves.

        Raises:
            InvalidRequest, RepositoryNotFound, WorktreeNotFound, WorktreeExists, GitFailed, StorageDegraded
        """
        removed = await self._restoring.find(await self.registry.repositories.of(repo_path), wanted)
        restored = await self._undertaken(partial(self._restoring.restore, removed, path))
        return await self.registry.seen_one(restored)

    @asynccontextmanager
    async def reports(self, repo_path: str) -> AsyncIterator[ObjectReceiveStream[Report]]:
        """On each worktree of a repository, or of all that are known, as it becomes known.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        async with open_reports(self._room.git, await self.listed(repo_path)) as reports:
            yield reports

    async def finish_or_take_back(self, rows: Sequence[WorktreeRow]) -> None:
        """What a daemon before this one began with these."""
        await finish_or_take_back(rows, self.registry, self._removing, self._restoring)

    async def keep_trash(self) -> None:
        """Drop what was kept long enough, again and again."""
        await keep_trash(self._room, self._trash)

    async def _undertaken(self, work: Callable[[], Awaitable[T]]) -> T:
        """What goes on when the caller leaves."""

        async def carry(_: Feed) -> T:
            return await work()

        return await begin(self._room.tasks, carry).result()


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
    writable: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
) -> AsyncIterator[Worktrees]:
    """Serve until the block is left; what is under way then is broken off, and taken up by the next daemon.

    What an earlier daemon left is taken up when `writable` returns.
    """
    async with anyio.create_task_group() as tasks:
        room = WorktreeRoom(
            store, git, sessions, settings, state_dir, is_trusted, environment, tasks, faults, fixed, user_file, umask
        )
        worktrees = Worktrees(room, snapshots)
        rows = await store.worktrees()  # read before anybody can begin something new
        sessions.place_with(worktrees.placing)

        async def take_up() -> None:
            await writable()
            tasks.start_soon(
                run_once, "unfinished worktrees", take_up_what_was_begun, room, worktrees.registry, begun(rows)
            )
            tasks.start_soon(run_once, "unfinished removals", worktrees.finish_or_take_back, rows)
            tasks.start_soon(keep_running, "removed worktrees", worktrees.keep_trash)
            tasks.start_soon(run_once, "worktree check", reconcile, room, worktrees.registry)

        tasks.start_soon(run_once, "worktrees at start", take_up)
        yield worktrees
        tasks.cancel_scope.cancel()
