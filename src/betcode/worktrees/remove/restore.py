"""Restores a removed worktree: HEAD, branch, index, files and id, so that its sessions belong to it again.

A branch that has not moved is checked out, and a deleted one is created again. If it has moved or is checked out
elsewhere, it stays unchanged: HEAD is then detached at the former commit, and the worktree's note says so. The saved
state is deleted when everything is restored.
"""

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread

from betcode.domain.errors import (
    BetcodeError,
    GitFailed,
    InvalidRequest,
    WorktreeExists,
    WorktreeNotFound,
    WorktreeUnusable,
)
from betcode.domain.repositories.worktrees import (
    RepositoryRow,
    SetupState,
    WorktreeId,
    WorktreeOrigin,
    WorktreeRow,
    WorktreeState,
    new_worktree_id,
)
from betcode.domain.values.identifiers import is_uuid
from betcode.domain.values.phrases import named, placed
from betcode.git.commits import commit_named
from betcode.git.names import is_branch_name
from betcode.git.repository import ListedWorktree, git_directory, listed_worktrees
from betcode.git.tree import LONG_S, Tree
from betcode.util import wall_clock
from betcode.worktrees.catalog.registry import WorktreeRegistry
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.create import untracked_copies
from betcode.worktrees.create.plan import is_free, place_at
from betcode.worktrees.remove.removal_steps import Removal, RemovalStep, removal_of
from betcode.worktrees.remove.restore_tree import TreeRestorer
from betcode.worktrees.remove.submodule_store import restore_submodules
from betcode.worktrees.remove.trash import RemovedWorktree, Trash

logger = logging.getLogger(__name__)

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAME_CHARACTERS = 255
_PREFIX = 8  # characters of an id
_BY_GIT = "initializing"  # git's lock of an unfinished worktree


@dataclass(frozen=True, slots=True)
class _RestorePoint:
    """How the worktree is added."""

    arguments: tuple[str, ...]
    unborn: str = ""  # the branch that HEAD names without a commit
    note: str = ""


class WorktreeRestorer:
    def __init__(self, context: WorktreeContext, registry: WorktreeRegistry, trash: Trash) -> None:
        self._context = context
        self._registry = registry
        self._trash = trash
        self._at_work: set[str] = set()

    async def find(self, repository: RepositoryRow, wanted: str) -> RemovedWorktree:
        """Return the removed worktree with this id, or with this unique name or id prefix.

        Raises:
            WorktreeNotFound, InvalidRequest, GitFailed
        """
        kept = await self._trash.removed_from(repository)
        found = [each for each in kept if each.id == wanted] or [each for each in kept if each.text("name") == wanted]
        found = found or [each for each in kept if len(wanted) >= _PREFIX and each.id.startswith(wanted)]
        if not found:
            raise WorktreeNotFound(wanted[:100])
        if len(found) > 1:
            raise InvalidRequest(f"Several removed worktrees were named {named(wanted)}: give the full id of one")
        return found[0]

    async def restore(self, removed: RemovedWorktree, path: str) -> WorktreeId:
        """Bring it back, to where it was or elsewhere.

        Raises:
            InvalidRequest, WorktreeExists, WorktreeUnusable, GitFailed, StorageDegraded
        """
        if removed.id in self._at_work:
            raise WorktreeUnusable(f"{named(removed.text('name'))} is being restored already: wait until that is done")
        self._at_work.add(removed.id)
        try:
            return await self._restore(removed, path)
        finally:
            self._at_work.discard(removed.id)

    async def _restore(self, removed: RemovedWorktree, path: str) -> WorktreeId:
        await self._registry.seen(removed.repository)  # so that the rows are true
        rows = await self._context.store.worktrees()
        row = next((each for each in rows if _is_restored_from(each, removed.id)), None)
        is_new = row is None
        if row is None:
            path = path or await anyio.to_thread.run_sync(self._former_path, removed)
            row = self._row(removed, await anyio.to_thread.run_sync(_free_place, path, removed.repository), rows)
        if row.id in self._context.at_work:
            raise WorktreeUnusable(f"{named(row.name)} is being removed or restored: wait until that is done")
        with self._context.at_work_on(row.id):
            if is_new:
                await self._registry.save(row)
                self._context.faults("restore-noted")
            await self.bring_back(row, removed)
        return row.id

    def _former_path(self, removed: RemovedWorktree) -> str:
        """Return its former path. A ref's path is used only if we wrote the ref: it could name any path. It may block.

        Raises:
            InvalidRequest
        """
        if self._trash.privately(self._trash.place_of(removed.id, removed.repository.id)) is None:
            raise InvalidRequest(
                f"{named(removed.text('name'))} was not removed by this daemon from this repository: "
                "give its path with --path"
            )
        return removed.text("path")

    def _row(self, removed: RemovedWorktree, path: str, rows: Sequence[WorktreeRow]) -> WorktreeRow:
        name = removed.text("name")[:_NAME_CHARACTERS] or "restored"
        wanted = WorktreeId(removed.text("worktree"))
        in_the_way = [each for each in rows if each.path == path or _is_named(each, removed, name)]
        for each in in_the_way:
            if each.state is not WorktreeState.STALE:
                if each.path == path:
                    raise WorktreeExists(f"A worktree is already at {placed(path)}: restore to another path")
                raise WorktreeExists(f"A worktree called {named(name)} already exists: remove that one first")
        if in_the_way:  # deleted by another program: its row is used again
            identifier = in_the_way[0].id
        else:
            is_free = is_uuid(wanted) and not any(each.id == wanted for each in rows)
            identifier = wanted if is_free else new_worktree_id()
        now_ns = wall_clock.now_ns()
        return WorktreeRow(
            id=identifier,
            repository=removed.repository.id,
            name=name,
            path=path,
            branch=removed.text("head_branch"),
            origin=WorktreeOrigin.ADOPTED if removed.text("origin") == WorktreeOrigin.ADOPTED else WorktreeOrigin.MADE,
            state=WorktreeState.REMOVING,
            created_ns=removed.number("created_at_ns") or now_ns,
            last_used_ns=now_ns,
            base=removed.text("base"),
            made_branch=removed.facts.get("made_branch") is True,
            setup=SetupState.SKIPPED,
            setup_note="",
            removal=Removal(removed.id, RemovalStep.RESTORING).written(),
        )

    async def bring_back(self, row: WorktreeRow, removed: RemovedWorktree) -> None:
        """Restore everything that is still missing.

        Raises:
            GitFailed, StorageDegraded, WorktreeUnusable: the saved state remains, and it can be tried again.
        """
        try:
            async with self._context.queues.turn(row.repository):
                row = await self._added(row, removed)
                self._context.faults("restore-added")
                row, is_whole = await self._filled(row, removed)
                self._context.faults("restore-filled")
        except (BetcodeError, OSError) as trouble:
            words = trouble.message if isinstance(trouble, BetcodeError) else str(trouble)
            if await anyio.to_thread.run_sync(git_directory, row.path):
                await self._registry.change(row.id, trouble=f"It is not fully restored: {words}")
            else:
                await self._registry.forget(row)
            if isinstance(trouble, OSError):
                raise GitFailed(f"{named(row.name)} cannot be restored: {words}") from None
            raise
        facts = {"brought_along": row.brought_along, "trouble": row.trouble}
        await self._registry.change(row.id, state=WorktreeState.READY, removal="", **facts)
        self._context.faults("restore-noted-as-done")
        if is_whole:
            await self._trash.drop(removed.repository, removed.id, removed.commit)
        logger.info("a worktree was restored", extra={"worktree": row.name, "path": row.path})

    async def _added(self, row: WorktreeRow, removed: RemovedWorktree) -> WorktreeRow:
        common_dir = removed.repository.common_dir
        listed = await listed_worktrees(self._context.git, common_dir)
        own = next((each for each in listed if each.path == row.path and not each.prunable), None)
        note = row.trouble
        if own is None:
            start = await self._start(removed, listed)
            words = ("worktree", "add", "--no-checkout", *start.arguments[:-1], row.path, start.arguments[-1])
            await self._context.git.run(*words, at=common_dir, bound_s=LONG_S)
            if start.unborn:
                await self._context.git.run("symbolic-ref", "HEAD", f"refs/heads/{start.unborn}", at=row.path)
            note = start.note
        elif own.is_locked and own.locked == _BY_GIT:
            await self._context.git.run("worktree", "unlock", row.path, at=common_dir)
        git_dir = await anyio.to_thread.run_sync(git_directory, row.path)
        return await self._registry.change(row.id, git_dir=git_dir, trouble=note)

    async def _start(self, removed: RemovedWorktree, listed: Sequence[ListedWorktree]) -> _RestorePoint:
        head, branch = removed.text("head"), removed.text("head_branch")
        if head and not _COMMIT.fullmatch(head):
            raise GitFailed(f"{removed.ref} does not name the commit that was checked out")
        if branch and not is_branch_name(branch):
            branch = ""
        if not branch:
            return _RestorePoint(("--detach", head or removed.commit))
        holder = next((each.path for each in listed if each.branch == branch), "")  # also a missing one: git refuses it
        now = await commit_named(self._context.git, removed.repository.common_dir, f"refs/heads/{branch}")
        if not head:
            unborn = f"{branch}-restored" if now or holder else branch
            note = f"{branch} exists again: the restored branch is {unborn}" if unborn != branch else ""
            return _RestorePoint(("--detach", removed.commit), unborn, note)
        advice = f"HEAD is detached at {head[:10]}; git switch -c NAME makes a branch of it"
        if holder:
            return _RestorePoint(
                ("--detach", head), note=f"The branch {branch} is checked out in {placed(holder)}: {advice}"
            )
        if now == head:
            return _RestorePoint((branch,))
        if now:
            return _RestorePoint(("--detach", head), note=f"The branch {branch} has moved since: {advice}")
        if await self._is_in_the_way(removed, branch):
            return _RestorePoint(
                ("--detach", head), note=f"The branch {branch} conflicts with an existing one: {advice}"
            )
        return _RestorePoint(("-b", branch, head))

    async def _is_in_the_way(self, removed: RemovedWorktree, branch: str) -> bool:
        """Return whether another branch makes this name impossible: a file cannot be a directory."""
        out = await self._context.git.run(
            "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/", at=removed.repository.common_dir
        )
        others = os.fsdecode(out).splitlines()
        return any(each.startswith(f"{branch}/") or branch.startswith(f"{each}/") for each in others)

    async def _filled(self, row: WorktreeRow, removed: RemovedWorktree) -> tuple[WorktreeRow, bool]:
        """The row, and whether everything is back."""
        top = Path(row.path)
        place = await anyio.to_thread.run_sync(self._trash.place_of, removed.id, removed.repository.id)
        privately = await anyio.to_thread.run_sync(self._trash.privately, place)
        known = privately.brought_along if privately else {}
        modes = privately.modes if privately else {}
        scratch = await anyio.to_thread.run_sync(self._trash.scratch, place)
        tree = Tree(row.path, row.git_dir, removed.repository.common_dir, may_fetch=True)
        filling = TreeRestorer(self._context.git, tree, scratch)
        index, rest = removed.text("index"), removed.text("rest")
        if not _COMMIT.fullmatch(index) or not _COMMIT.fullmatch(rest):
            raise GitFailed(f"{removed.ref} does not contain the index")
        await filling.fill(removed.commit, index, rest)
        await restore_submodules(self._context.git, tree, self._trash.directory(place), scratch)
        await anyio.to_thread.run_sync(untracked_copies.restore_copies, self._trash.files_of(place), top, modes)
        row = replace(row, brought_along=known)
        if await filling.is_whole(removed.commit, index, [*known]):
            return row, True
        trouble = f"Not everything was restored, so the saved state remains: compare with git diff {removed.ref}"
        return replace(row, trouble=f"{trouble}. {row.trouble}" if row.trouble else trouble), False


def _is_restored_from(row: WorktreeRow, identifier: str) -> bool:
    removal = removal_of(row.removal)
    return removal is not None and removal.step is RemovalStep.RESTORING and removal.id == identifier


def _is_named(row: WorktreeRow, removed: RemovedWorktree, name: str) -> bool:
    return row.repository == removed.repository.id and row.name == name


def _free_place(path: str, repository: RepositoryRow) -> str:
    """Return the path of the worktree, links followed. It may block.

    Raises:
        InvalidRequest, WorktreeExists
    """
    place = place_at(path, repository)
    if not is_free(Path(place)):
        raise WorktreeExists(f"{placed(place)} already exists: move it elsewhere, or restore to another path")
    return place
