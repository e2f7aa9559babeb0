"""Removes a worktree: refuses if something would be lost, or saves it first if forced.

The order: check refusals; set the row to REMOVING; close sessions; check again; save everything; rename the directory
in one step and check it again, because something may have been written to it; mark the row as going; remove git's
entry; delete the directory; delete the row. Until the row is marked as going, every failure is rolled back.
"""

import logging
import os
import tempfile
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

import anyio
import anyio.to_thread

from betcode.domain.errors import (
    BetcodeError,
    GitFailed,
    SessionNotFound,
    WorktreeNotFound,
    WorktreeUnusable,
)
from betcode.domain.repositories.worktrees import RepositoryRow, SetupState, WorktreeId, WorktreeRow, WorktreeState
from betcode.domain.values.identifiers import time_ordered_uuid
from betcode.domain.values.phrases import named, placed
from betcode.git.links import registered_directory
from betcode.git.repository import ListedWorktree, listed_worktrees
from betcode.git.status import Changed, Head, changes
from betcode.git.tree import Tree
from betcode.worktrees.catalog.registry import SeenWorktree, WorktreeRegistry
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.inspect.contents import Contents, contents_of, unpushed_of
from betcode.worktrees.inspect.fingerprints import fingerprint
from betcode.worktrees.inspect.inspect import tree_of
from betcode.worktrees.inspect.nested import find_nested
from betcode.worktrees.inspect.refusals import (
    called,
    refuse_at_work,
    refuse_loss,
    refuse_nested,
    refuse_what_is_never_removed,
)
from betcode.worktrees.inspect.submodules import held_by_submodules
from betcode.worktrees.remove.delete_directory import aside_of, delete, mounted_in, move
from betcode.worktrees.remove.removal_steps import Removal, RemovalStep, removal_of
from betcode.worktrees.remove.trash import Trash

logger = logging.getLogger(__name__)

_TRIES = 3  # if another program writes into it meanwhile


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """The result of a removal."""

    sessions_closed: int = 0
    removed_id: str = ""  # for a restore; empty: there was nothing to save
    kept_until_ns: int = 0


class WorktreeRemover:
    def __init__(self, context: WorktreeContext, registry: WorktreeRegistry, trash: Trash) -> None:
        self._context = context
        self._registry = registry
        self._trash = trash

    async def remove(self, worktree: WorktreeId, *, force: bool, by: str) -> RemovalResult:
        """Remove it, or finish an earlier attempt.

        Raises:
            WorktreeNotFound, WorktreeUnusable, WorktreeHasChanges, GitFailed, StorageDegraded
        """
        row = await self._context.store.worktree(worktree)
        if row is None:
            raise WorktreeNotFound(worktree)
        if worktree in self._context.at_work:
            raise WorktreeUnusable(f"{named(row.name)} is being removed or restored already: wait until that is done")
        with self._context.at_work_on(worktree):
            removal = removal_of(row.removal)
            if row.state is WorktreeState.REMOVING and removal is not None and removal.step is RemovalStep.GOING:
                await self.finish(row, removal)
                return await self._done(0, removal)
            if removal is not None and removal.step is RemovalStep.BEGUN:  # and could not be taken back then
                await self.take_back(row, removal)
            if removal is not None and removal.step is RemovalStep.RESTORING:
                await self._registry.change(row.id, state=WorktreeState.READY, removal="")
            return await self._remove(await self._registry.seen_one(worktree), force=force, by=by)

    async def _remove(self, seen: SeenWorktree, *, force: bool, by: str) -> RemovalResult:
        refuse_what_is_never_removed(seen)
        if not seen.is_there:
            return await self._remove_gone(seen, force=force, by=by)
        row = seen.row
        tree = await tree_of(seen)
        if mounts := await anyio.to_thread.run_sync(mounted_in, row.path):
            raise WorktreeUnusable(
                f"{placed(mounts[0])} is a mount point, and its content would be deleted: unmount it first"
            )
        refuse_nested(seen, await listed_worktrees(self._context.git, tree.common_dir))
        if other := await find_nested(self._context, seen):
            raise WorktreeUnusable(
                f"{called(seen)} contains {placed(other)}, which is not part of it: move that elsewhere first"
            )
        if not force:
            refuse_at_work(seen)
        refuse_loss(seen, await contents_of(self._context.git, tree, row), force=force)
        removal = Removal(identifier := time_ordered_uuid(), RemovalStep.BEGUN, aside_of(row.path, identifier))
        row = await self._note(row, removal)
        self._context.faults("removal-noted")
        try:
            if row.setup is SetupState.RUNNING:  # since the row was read
                raise WorktreeUnusable(f"{called(seen)} is being set up: wait until that is done")
            closed = await self._close_sessions(row.id)
            self._context.faults("removal-sessions-closed")
            async with self._context.queues.turn(row.repository):
                removal = await self._keep_and_move(seen, tree, row, removal, force=force, by=by)
                row = await self._note(row, removal)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.take_back(row, removal)
            raise
        self._context.faults("removal-going")
        await self.finish(row, removal)
        return await self._done(closed, removal)

    async def _note(self, row: WorktreeRow, removal: Removal) -> WorktreeRow:
        facts = {"state": WorktreeState.REMOVING, "removal": removal.written(), "trouble": ""}
        return await self._registry.change(row.id, **facts)

    async def _done(self, closed: int, removal: Removal) -> RemovalResult:
        if not removal.has_kept:
            return RemovalResult(closed)
        moment = await anyio.to_thread.run_sync(self._trash.privately, removal.id)
        until_ns = (moment.removed_ns if moment else 0) + self._trash.keep_ns
        return RemovalResult(closed, removal.id, until_ns)

    async def _keep_and_move(
        self, seen: SeenWorktree, tree: Tree, row: WorktreeRow, removal: Removal, *, force: bool, by: str
    ) -> Removal:
        """Move the directory aside, check that it is unchanged, and save what would be lost."""
        aside = replace(tree, top=removal.aside)
        for _ in range(_TRIES):
            # First: later changes are in the contents, or are seen at the end.
            before = await fingerprint(self._context.git, tree)
            contents = await contents_of(self._context.git, tree, row)
            self._context.faults("removal-looked")
            refuse_loss(seen, contents, force=force)
            if not contents.is_clean:
                removal = replace(removal, has_kept=True)
                await self._trash.keep(removal.id, tree, row, contents, by)
                self._context.faults("removal-kept")
            await anyio.to_thread.run_sync(move, tree.top, aside.top)
            self._context.faults("removal-aside")
            if await fingerprint(self._context.git, aside) == before:
                return replace(removal, step=RemovalStep.GOING)
            await anyio.to_thread.run_sync(move, aside.top, tree.top)
        raise WorktreeUnusable(
            f"{called(seen)} keeps changing: end the program that writes there, then remove it again"
        )

    async def _close_sessions(self, worktree: WorktreeId) -> int:
        closed = 0
        for session in await self._context.store.open_sessions(worktree):
            try:
                closed += await self._context.sessions.close(session)
            except SessionNotFound:  # it was deleted meanwhile
                continue
        return closed

    async def finish(self, row: WorktreeRow, removal: Removal) -> None:
        """Continue from the step in the row.

        Raises:
            WorktreeUnusable, GitFailed: the row has the remaining steps, and it can be tried again.
        """
        try:
            repository = await self._registry.repositories.get(row.repository)
            if await anyio.to_thread.run_sync(os.path.isdir, repository.common_dir):
                await self._leave_git(row, repository)
                self._context.faults("removal-forgotten-by-git")
                if removal.aside:
                    await delete(removal.aside)
                self._context.faults("removal-deleted")
            elif await anyio.to_thread.run_sync(os.path.lexists, removal.aside):  # the saved state was deleted with it
                raise WorktreeUnusable(
                    f"The repository is missing, and the files of {named(row.name)} are at {placed(removal.aside)}: "
                    "copy what you need, delete them and remove it again"
                )
        except BetcodeError as trouble:
            await self._registry.change(row.id, trouble=trouble.message)
            raise
        await self._registry.forget(row)
        logger.info("a worktree was removed", extra={"worktree": row.name, "path": row.path, "kept": removal.has_kept})

    async def _leave_git(self, row: WorktreeRow, repository: RepositoryRow) -> None:
        """Have git forget this one entry, if it still has it."""
        async with self._context.queues.turn(row.repository):
            listed = await listed_worktrees(self._context.git, repository.common_dir)
            if any(each.path == row.path for each in listed):
                await self._context.git.run("worktree", "remove", "--", row.path, at=repository.common_dir)

    async def take_up(self, worktree: WorktreeId, removal: Removal) -> None:
        """Finish what an earlier daemon began, unless a caller has requested it meanwhile.

        Raises:
            WorktreeUnusable, GitFailed
        """
        if worktree in self._context.at_work:
            return
        with self._context.at_work_on(worktree):
            row = await self._context.store.worktree(worktree)
            if row is None or removal_of(row.removal) != removal:
                return
            if removal.step is RemovalStep.GOING:
                await self.finish(row, removal)
            else:
                await self.take_back(row, removal)
                logger.warning("a removal that was broken off is taken back", extra={"worktree": row.name})

    async def take_back(self, row: WorktreeRow, removal: Removal) -> None:
        """Undo the removal: move the directory back, and delete the saved state."""
        if os.path.lexists(removal.aside):
            try:
                await anyio.to_thread.run_sync(_put_back, removal.aside, row.path)
            except WorktreeUnusable as trouble:
                note = f"Its files are at {placed(removal.aside)}: {trouble.message}, and remove it again"
                await self._registry.change(row.id, trouble=note)
                raise
        await self._registry.change(row.id, state=WorktreeState.READY, removal="")
        try:
            await self._trash.drop(await self._registry.repositories.get(row.repository), removal.id)
        except BetcodeError as trouble:
            logger.warning("the saved state of %s remains: %s", row.name, trouble.message)

    # ------------------------------------------------------------ missing worktrees

    async def _remove_gone(self, seen: SeenWorktree, *, force: bool, by: str) -> RemovalResult:
        """Remove a worktree without a directory: git forgets its entry, and what only the entry contains is saved."""
        row, common_dir = seen.row, seen.repository.common_dir
        if os.path.lexists(row.path):
            raise WorktreeUnusable(
                f"git no longer lists {placed(row.path)} as a worktree: try git worktree repair, "
                "or check its files, delete them yourself and remove it again"
            )
        listed = await listed_worktrees(self._context.git, common_dir)
        entry = next((each for each in listed if each.path == row.path), None)
        removal = Removal(time_ordered_uuid(), RemovalStep.GOING)
        if entry is not None:
            async with self._context.queues.turn(row.repository):
                removal = await self.kept_of_gone(seen, entry, removal, force=force, by=by)
        row = await self._note(row, removal)
        closed = await self._close_sessions(row.id)
        await self.finish(row, removal)
        return await self._done(closed, removal)

    async def kept_of_gone(
        self, seen: SeenWorktree, entry: ListedWorktree, removal: Removal, *, force: bool, by: str
    ) -> Removal:
        """Save what only git's entry contains. Call it in a turn of its repository.

        Raises:
            WorktreeHasChanges, GitFailed, StorageDegraded
        """
        common_dir = seen.repository.common_dir
        git_dir = await anyio.to_thread.run_sync(registered_directory, common_dir, seen.row.path)
        if not git_dir:
            return removal
        with tempfile.TemporaryDirectory(prefix="betcode-") as empty:
            tree = Tree(empty, git_dir, common_dir)
            async with aclosing(changes(self._context.git, tree, submodules=False)) as found:
                staged = [each async for each in found if isinstance(each, Changed) and each.status[0] not in " ?"]
            head = Head(entry.head, entry.branch)
            unpushed, count = await unpushed_of(self._context.git, tree, head, any_branch=True)
            contents = Contents(
                head,
                changed=tuple(staged[:100]),
                unpushed=unpushed,
                submodules=tuple(await held_by_submodules(self._context.git, tree, [])),
                changed_count=len(staged),
                unpushed_count=count,
            )
            refuse_loss(seen, contents, force=force)
            if contents.is_clean:
                return removal
            await self._trash.keep(removal.id, tree, seen.row, contents, by, are_files_gone=True)
        return replace(removal, has_kept=True)

    async def forget(self, worktree: WorktreeId) -> None:
        """Forget a missing worktree; no file is changed.

        Raises:
            WorktreeNotFound, WorktreeUnusable, GitFailed
        """
        row = await self._context.store.worktree(worktree)
        if row is None:
            raise WorktreeNotFound(worktree)
        try:
            row = (await self._registry.seen_one(worktree)).row
        except GitFailed:  # its repository is missing
            if os.path.lexists(row.path):
                raise
        if row.state is not WorktreeState.STALE and os.path.lexists(row.path):
            raise WorktreeUnusable(f"{named(row.name)} exists: remove it instead")
        if row.state in (WorktreeState.CREATING, WorktreeState.REMOVING):
            raise WorktreeUnusable(f"{named(row.name)} is being made or removed: wait until that is done")
        await self._registry.forget(row)


def _put_back(aside: str, path: str) -> None:
    """Raises WorktreeUnusable. It may block."""
    with suppress(OSError):
        os.rmdir(path)  # noqa: PTH106 - it was created again, and is empty
    move(aside, path)
