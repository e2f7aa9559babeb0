"""Creates a worktree: row, git, setup. A failed creation is rolled back."""

import logging
from contextlib import suppress
from dataclasses import replace

import anyio.to_thread

from betcode.domain.errors import BetcodeError, WorktreeExists, WorktreeNotFound
from betcode.domain.repositories.worktrees import (
    RepositoryRow,
    SetupState,
    WorktreeOrigin,
    WorktreeRow,
    WorktreeState,
    new_worktree_id,
)
from betcode.domain.values.identifiers import time_ordered_uuid
from betcode.git.repository import git_directory, listed_worktrees
from betcode.util import wall_clock
from betcode.worktrees.background_work import insist
from betcode.worktrees.catalog.registry import SeenWorktree, WorktreeRegistry
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.create.git_add import add, forget_registration, make_branch, take_back, take_branch_back, unlock
from betcode.worktrees.create.plan import (
    CreateRequest,
    StartPoint,
    check_free,
    name_for,
    path_for,
    reused_row,
    start_for,
)
from betcode.worktrees.create.setup import SetupRunner
from betcode.worktrees.create.setup_output import ProgressFeed
from betcode.worktrees.remove.removal_steps import Removal, RemovalStep
from betcode.worktrees.remove.remove import WorktreeRemover

logger = logging.getLogger(__name__)


class WorktreeCreator:
    def __init__(
        self, context: WorktreeContext, registry: WorktreeRegistry, setups: SetupRunner, removing: WorktreeRemover
    ) -> None:
        self._context = context
        self._registry = registry
        self._setups = setups
        self._removing = removing

    async def create(self, wanted: CreateRequest, feed: ProgressFeed) -> WorktreeRow:
        """Return a worktree that exists and is set up, unless no setup was requested.

        Raises:
            InvalidRequest, RepositoryNotFound, BranchNotFound, WorktreeExists, GitFailed: nothing was created.
            SetupFailed: `kept` says whether there is one.
        """
        wanted.checked()
        repository = await self._registry.repositories.of(wanted.repo_path)
        row = await self._added(repository, wanted, feed)
        if wanted.not_set_up:
            row = await self._registry.change(row.id, setup=SetupState.SKIPPED, setup_note=wanted.not_set_up)
        else:
            row = await self._setups.run(repository, row, feed, begun_steps=1)
        has_failed = row.setup in (SetupState.FAILED, SetupState.TIMED_OUT)
        if has_failed and wanted.roll_back:
            words = await self._setups.last_words(row.id)
            trouble = await self._rolled_back(repository, row)
            if not trouble:
                self._setups.refuse_failed(row, kept=False, words=words)
            note = f"{row.setup_note}; it could not be removed again: {trouble}"
            row = await insist(lambda: self._registry.change(row.id, setup_note=note))
        else:
            row = await insist(lambda: self._registry.change(row.id, state=WorktreeState.READY))
        if has_failed:
            self._setups.refuse_failed(row, kept=True, words=await self._setups.last_words(row.id))
        return row

    async def _added(self, repository: RepositoryRow, wanted: CreateRequest, feed: ProgressFeed) -> WorktreeRow:
        """Return the row of a worktree whose files are complete."""
        async with self._context.queues.turn(repository.id):
            row, start, before = await self._begun(repository, wanted)
            feed.step("git worktree add", 1)
            facts = {"worktree": row.name, "path": row.path, "branch": row.branch, "repository": repository.path}
            logger.info("a worktree is being made", extra=facts)
            try:
                self._context.faults("before-worktree-add")
                if start.commit:
                    await make_branch(self._context.git, repository, row, start)
                await add(self._context.git, repository, row)
                self._context.faults("after-worktree-add")
                await unlock(self._context.git, repository, row)
                git_dir = await anyio.to_thread.run_sync(git_directory, row.path)
                row = await self._registry.change(row.id, git_dir=git_dir)
            except Exception:
                await take_back(self._context.git, repository, row)
                await self._given_up(row, before)
                raise
            logger.info("a worktree was made", extra=facts)
            return row

    async def _begun(
        self, repository: RepositoryRow, wanted: CreateRequest
    ) -> tuple[WorktreeRow, StartPoint, WorktreeRow | None]:
        """Return the new row, the start point, and the previous row if a missing worktree is created again."""
        await self._registry.seen(repository)  # so that the rows are those of this moment
        rows = await self._context.store.worktrees(repository.id)
        listed = await listed_worktrees(self._context.git, repository.common_dir)
        name, path = name_for(wanted), await path_for(wanted, repository)
        before = reused_row(rows, name, path)
        await check_free(path)
        start = await start_for(self._context.git, wanted, repository, listed, before)
        for each in listed:
            if each.prunable and before and each.path in (path, before.path):
                gone = SeenWorktree(repository, before, None)
                kept = Removal(time_ordered_uuid(), RemovalStep.GOING)
                await self._removing.kept_of_gone(gone, each, kept, force=True, by="another one in its place")
                await forget_registration(self._context.git, repository, each.path)
        now_ns = wall_clock.now_ns()
        row = WorktreeRow(
            id=before.id if before else new_worktree_id(),
            repository=repository.id,
            name=name,
            path=path,
            branch=start.branch,
            origin=WorktreeOrigin.MADE,
            state=WorktreeState.CREATING,
            created_ns=before.created_ns if before else now_ns,
            last_used_ns=now_ns,
            base=start.commit,
            made_branch=bool(start.commit),
        )
        await self._registry.save(row)
        return row, start, before

    async def _rolled_back(self, repository: RepositoryRow, row: WorktreeRow) -> str:
        """Return why it was not rolled back; empty if it was. Files written meanwhile are saved."""
        await insist(lambda: self._registry.change(row.id, state=WorktreeState.READY))
        try:
            await self._removing.remove(row.id, force=True, by="a setup that failed")
        except WorktreeNotFound:  # created concurrently
            pass
        except BetcodeError as trouble:
            return trouble.message
        async with self._context.queues.turn(repository.id):
            trouble_with_branch = await take_branch_back(self._context.git, repository, row)
        if await self._context.store.sessions_of([row.id]):
            with suppress(WorktreeExists):  # another worktree was created there
                await self._given_up(row, None)
        logger.info("a worktree was removed again", extra={"worktree": row.name, "path": row.path})
        return trouble_with_branch

    async def _given_up(self, row: WorktreeRow, before: WorktreeRow | None) -> None:
        """Delete everything of it except, if sessions belong to it, a row that records this."""
        await insist(lambda: abandon(self._context, self._registry, row, before))


async def abandon(
    context: WorktreeContext, registry: WorktreeRegistry, row: WorktreeRow, before: WorktreeRow | None = None
) -> None:
    """Forget a worktree that was not created; one that existed before is missing again."""
    if before is not None:
        await registry.save(before)
    elif await context.store.sessions_of([row.id]):
        await registry.save(replace(row, state=WorktreeState.STALE, setup=SetupState.NONE, setup_process=""))
    else:
        await registry.forget(row)
