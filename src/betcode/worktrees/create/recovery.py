"""Finishes or rolls back creations that a killed daemon left unfinished."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from betcode.domain.errors import BetcodeError, GitFailed
from betcode.domain.repositories.worktrees import RepositoryRow, SetupState, WorktreeRow, WorktreeState
from betcode.git.command import Git
from betcode.git.repository import git_directory, listed_worktrees
from betcode.worktrees.catalog.registry import WorktreeRegistry
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.create.create import abandon
from betcode.worktrees.create.git_add import complete, holds_only_what_git_wrote, is_unready, take_back, unlock
from betcode.worktrees.create.setup_process import end_setup_process

logger = logging.getLogger(__name__)


def unfinished_rows(rows: Sequence[WorktreeRow]) -> list[WorktreeRow]:
    """Return the rows of worktrees that were being created or set up."""
    return [row for row in rows if row.state is WorktreeState.CREATING or row.setup is SetupState.RUNNING]


async def recover_creations(context: WorktreeContext, registry: WorktreeRegistry, rows: Sequence[WorktreeRow]) -> None:
    """Bring each of these rows of the daemon before to its end; none is being made by this one."""
    for row in rows:
        try:
            repository = await registry.repositories.get(row.repository)
            async with context.queues.turn(row.repository):
                await _take_up(context, registry, repository, row)
        except BetcodeError as trouble:
            logger.warning("an unfinished worktree is unchanged: %s", trouble.message, extra={"path": row.path})
            note = f"The daemon ended while it was made, and it could not be finished or undone: {trouble.message}"
            with suppress(BetcodeError):
                await registry.change(row.id, setup_note=note)
        except Exception:
            logger.exception("an unfinished worktree is unchanged", extra={"path": row.path})


async def _take_up(
    context: WorktreeContext, registry: WorktreeRegistry, repository: RepositoryRow, row: WorktreeRow
) -> None:
    # git itself may still be running, and rolls back its work when it is ended.
    ended = await end_setup_process(row.id, row.setup_process)
    if row.state is WorktreeState.CREATING and not row.git_dir:
        git_dir = await _finished(context.git, repository, row)
        if not git_dir:
            await abandon(context, registry, row)
            logger.info("a worktree that was only begun was taken back", extra={"worktree": row.name, "path": row.path})
            return
        await registry.change(row.id, git_dir=git_dir)
    state = WorktreeState.READY if row.state is WorktreeState.CREATING else row.state
    facts = {"state": state, "setup": SetupState.FAILED, "setup_note": _note(row, ended), "setup_process": ""}
    changed = await registry.change(row.id, **facts)
    logger.warning("a setup was broken off: %s", changed.setup_note, extra={"worktree": row.name, "path": row.path})


async def _finished(git: Git, repository: RepositoryRow, row: WorktreeRow) -> str:
    """Return git's directory of the worktree, which is now complete; empty if nothing of it exists.

    Raises:
        GitFailed, StorageDegraded: the next daemon tries again.
    """
    listed = {each.path: each for each in await listed_worktrees(git, repository.common_dir)}
    there = listed.get(row.path)
    git_dir = await anyio.to_thread.run_sync(git_directory, row.path)
    if there is not None and not there.prunable and git_dir:
        if not is_unready(row, there):
            return git_dir
        # git writes the index when all files are there. Until then a person may have found it, and worked in it.
        is_whole = await anyio.to_thread.run_sync((Path(git_dir) / "index").exists)
        if is_whole or not await holds_only_what_git_wrote(git, row, git_dir):
            if not is_whole:
                await complete(git, row)
            await unlock(git, repository, row)
            return git_dir
    if trouble := await take_back(git, repository, row):
        raise GitFailed(trouble)
    return ""


def _note(row: WorktreeRow, ended: int) -> str:
    what = "its setup ran" if row.setup is SetupState.RUNNING else "it was made, before its setup"
    processes = f"; {ended} processes of it were ended" if ended else ""
    return f"The daemon ended while {what}{processes}: run the setup again with: betcode worktree setup {row.name}"
