"""The worktree service: the public operations on worktrees."""

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
from betcode.worktrees.background_work import BackgroundWork, begin
from betcode.worktrees.catalog.branches import SeenBranch, branches
from betcode.worktrees.catalog.registry import SeenWorktree, WorktreeRegistry
from betcode.worktrees.catalog.startup_check import check_at_startup
from betcode.worktrees.catalog.switch import StartAs, SwitchResult, WorktreeSwitcher
from betcode.worktrees.context import Faults, SessionService, Trust, WorktreeContext, no_faults
from betcode.worktrees.create.create import WorktreeCreator
from betcode.worktrees.create.plan import CreateRequest
from betcode.worktrees.create.recovery import recover_creations, unfinished_rows
from betcode.worktrees.create.setup import SetupRunner
from betcode.worktrees.create.setup_output import ProgressFeed, SetupOutput
from betcode.worktrees.inspect.contents import Contents
from betcode.worktrees.inspect.inspect import inspect
from betcode.worktrees.inspect.report import WorktreeReport, open_reports
from betcode.worktrees.remove.expiry import run_trash_expiry
from betcode.worktrees.remove.recovery import recover_removals
from betcode.worktrees.remove.remove import RemovalResult, WorktreeRemover
from betcode.worktrees.remove.restore import WorktreeRestorer
from betcode.worktrees.remove.trash import RemovedWorktree, Trash
from betcode.worktrees.session_worktree import SessionWorktrees
from betcode.worktrees.turns.diffs import Diffs
from betcode.worktrees.turns.snapshots import Snapshots

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Worktrees:
    """The operations on worktrees; made by `open_worktrees`."""

    def __init__(self, context: WorktreeContext, snapshots: Snapshots) -> None:
        self._context = context
        self.registry = WorktreeRegistry(context)
        self.placing = SessionWorktrees(context, self.registry)
        self._switching = WorktreeSwitcher(context, self.registry)
        self._setups = SetupRunner(context, self.registry)
        self._trash = Trash(context)
        self._removing = WorktreeRemover(context, self.registry, self._trash)
        self._creating = WorktreeCreator(context, self.registry, self._setups, self._removing)
        self._restoring = WorktreeRestorer(context, self.registry, self._trash)
        self.diffs = Diffs(context, self.registry, snapshots)
        self._snapshots = snapshots

    def use(self, settings: Settings) -> None:
        """Go on with other settings."""
        self._context.settings = settings
        self._snapshots.use(settings)

    async def listed(self, repo_path: str) -> list[SeenWorktree]:
        """Return the worktrees of the repository that a directory belongs to; with an empty path, those of all known
        ones.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        if not repo_path:
            return await self.registry.seen_everywhere()
        return await self.registry.seen(await self.registry.repositories.of(repo_path))

    async def switch(self, worktree: str, start_as: StartAs) -> SwitchResult:
        """Make it the active one of its repository, with its session or a new one as `start_as` says.

        Raises:
            WorktreeNotFound, WorktreeUnusable, InvalidRequest, GitFailed, StorageDegraded: and nothing is switched.
        """
        return await self._switching.switch(worktree, start_as)

    async def repositories(self) -> list[tuple[RepositoryRow, int]]:
        """Return the known repositories, each with the number of its worktrees; only from the rows."""
        counts = Counter(row.repository for row in await self._context.store.worktrees())
        return [(row, counts[row.id]) for row in await self._context.store.repositories()]

    async def branches(self, repo_path: str, *, remote: bool) -> list[SeenBranch]:
        """The branches of the repository that a directory belongs to, the newest first.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        return await branches(self._context, self.registry, repo_path, remote=remote)

    async def names(self, worktrees: Collection[str]) -> Mapping[str, str]:
        """Return the names of worktrees by their ids; unknown ones are omitted."""
        return await self._context.store.names(worktrees) if any(worktrees) else {}

    def create(self, wanted: CreateRequest) -> BackgroundWork[SeenWorktree]:
        """Have a worktree made; the result may raise what `WorktreeCreator.create` raises."""

        async def work(feed: ProgressFeed) -> SeenWorktree:
            return await self.registry.seen_one((await self._creating.create(wanted, feed)).id)

        return begin(self._context.tasks, work)

    def set_up(self, worktree: WorktreeId) -> BackgroundWork[SeenWorktree]:
        """Have the setup of a worktree run, again or for the first time; the result may raise what that raises."""

        async def work(feed: ProgressFeed) -> SeenWorktree:
            return await self.registry.seen_one((await self._setups.again(worktree, feed)).id)

        return begin(self._context.tasks, work)

    async def setup_output(self, worktree: WorktreeId) -> list[SetupOutput]:
        """Return the stored output of the last setup.

        Raises:
            WorktreeNotFound
        """
        return await self._setups.output(worktree)

    async def inspect(self, text: str) -> Contents:
        """Return what would be lost if a worktree were removed now.

        Raises:
            WorktreeNotFound, WorktreeUnusable, GitFailed
        """
        return await inspect(self._context.git, await self.registry.seen_one((await self.registry.find(text)).id))

    async def remove(self, text: str, *, force: bool, by: str = "") -> RemovalResult:
        """Remove a worktree; the removal continues if the caller disconnects.

        Raises:
            WorktreeNotFound, WorktreeUnusable, WorktreeHasChanges, GitFailed, StorageDegraded
        """
        worktree = (await self.registry.find(text)).id
        return await self._undertaken(partial(self._removing.remove, worktree, force=force, by=by))

    async def forget(self, text: str) -> None:
        """Forget a missing worktree.

        Raises:
            WorktreeNotFound, WorktreeUnusable, GitFailed
        """
        await self._removing.forget((await self.registry.find(text)).id)

    async def removed(self, repo_path: str) -> list[RemovedWorktree]:
        """Return the removed worktrees that can be restored, in a repository or in all known ones that can be read.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        if repo_path:
            return await self._trash.removed_from(await self.registry.repositories.of(repo_path))
        found: list[RemovedWorktree] = []
        for repository in await self._context.store.repositories():
            with suppress(GitFailed):
                found += await self._trash.removed_from(repository)
        return found

    def kept_until_ns(self, removed: RemovedWorktree) -> int:
        return removed.removed_ns + self._trash.keep_ns

    async def restore(self, repo_path: str, wanted: str, path: str) -> SeenWorktree:
        """Restore a removed worktree; the work continues if the caller disconnects.

        Raises:
            InvalidRequest, RepositoryNotFound, WorktreeNotFound, WorktreeExists, GitFailed, StorageDegraded
        """
        removed = await self._restoring.find(await self.registry.repositories.of(repo_path), wanted)
        restored = await self._undertaken(partial(self._restoring.restore, removed, path))
        return await self.registry.seen_one(restored)

    @asynccontextmanager
    async def reports(self, repo_path: str) -> AsyncIterator[ObjectReceiveStream[WorktreeReport]]:
        """Yield a report on each worktree of a repository, or of all known ones, when it is ready.

        Raises:
            InvalidRequest, RepositoryNotFound, GitFailed
        """
        async with open_reports(self._context.git, await self.listed(repo_path)) as reports:
            yield reports

    async def recover_removals(self, rows: Sequence[WorktreeRow]) -> None:
        """Finish removals that an earlier daemon began."""
        await recover_removals(rows, self.registry, self._removing, self._restoring)

    async def run_trash_expiry(self) -> None:
        """Delete expired saved worktrees periodically."""
        await run_trash_expiry(self._context, self._trash)

    async def _undertaken(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work that continues if the caller disconnects."""

        async def carry(_: ProgressFeed) -> T:
            return await work()

        return await begin(self._context.tasks, carry).result()


@asynccontextmanager
async def open_worktrees(
    store: WorktreeStore,
    git: Git,
    sessions: SessionService,
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
    """Serve until the block ends; running work is then cancelled, and finished by the next daemon.

    The work of an earlier daemon is continued when `writable` returns.
    """
    async with anyio.create_task_group() as tasks:
        context = WorktreeContext(
            store, git, sessions, settings, state_dir, is_trusted, environment, tasks, faults, fixed, user_file, umask
        )
        worktrees = Worktrees(context, snapshots)
        rows = await store.worktrees()  # read before a new operation can begin
        sessions.place_with(worktrees.placing)

        async def take_up() -> None:
            await writable()
            tasks.start_soon(
                run_once, "unfinished worktrees", recover_creations, context, worktrees.registry, unfinished_rows(rows)
            )
            tasks.start_soon(run_once, "unfinished removals", worktrees.recover_removals, rows)
            tasks.start_soon(keep_running, "removed worktrees", worktrees.run_trash_expiry)
            tasks.start_soon(run_once, "worktree check", check_at_startup, context, worktrees.registry)

        tasks.start_soon(run_once, "worktrees at start", take_up)
        yield worktrees
        tasks.cancel_scope.cancel()
