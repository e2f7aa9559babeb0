"""Adds a worktree with git, and rolls that back without touching anything else."""

import logging
import os
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from betcode.domain.errors import BetcodeError
from betcode.domain.repositories.worktrees import RepositoryRow, WorktreeRow
from betcode.git.command import Git
from betcode.git.environment import MAY_FETCH
from betcode.git.repository import ListedWorktree, git_directory, listed_worktrees
from betcode.worktrees.create.plan import StartPoint
from betcode.worktrees.create.setup_process import MARKER

logger = logging.getLogger(__name__)

_ADD_WITHIN_S = 3600.0  # a checkout may be large
_REMOVE_WITHIN_S = 600.0


async def make_branch(git: Git, repository: RepositoryRow, row: WorktreeRow, start: StartPoint) -> None:
    """Create the branch of a worktree; its reflog names the worktree.

    Raises:
        GitFailed: also if it was created concurrently.
    """
    at = repository.common_dir
    ref = f"refs/heads/{start.branch}"
    await git.run("update-ref", "--create-reflog", "-m", _reason(row), ref, start.commit, "", at=at)
    if start.upstream:
        await git.run("branch", "--quiet", f"--set-upstream-to={start.upstream}", "--", start.branch, at=at)


async def add(git: Git, repository: RepositoryRow, row: WorktreeRow) -> None:
    """Add the worktree, with a lock that names its owner until it is complete.

    Raises:
        GitFailed, StorageDegraded
    """
    words = ("worktree", "add", "--quiet", "--lock", "--reason", _reason(row), "--", row.path, row.branch)
    await git.run(*words, at=repository.common_dir, variables={**MAY_FETCH, MARKER: row.id}, bound_s=_ADD_WITHIN_S)


async def unlock(git: Git, repository: RepositoryRow, row: WorktreeRow) -> None:
    """Raises GitFailed."""
    await git.run("worktree", "unlock", "--", row.path, at=repository.common_dir)


def is_unready(row: WorktreeRow, listed: ListedWorktree) -> bool:
    """Return whether git lists a worktree that was created for this row and is not marked complete yet."""
    return listed.is_locked and listed.locked == _reason(row)


async def forget_registration(git: Git, repository: RepositoryRow, path: str) -> None:
    """Make git forget a worktree whose directory is missing; git keeps a locked one.

    Raises:
        GitFailed
    """
    await git.run("worktree", "remove", "--", path, at=repository.common_dir)


async def take_back(git: Git, repository: RepositoryRow, row: WorktreeRow) -> str:
    """Remove the created worktree and branch; return what could not be removed and why, for people.

    Anything that is not provably ours remains.
    """
    try:
        there = [each for each in await listed_worktrees(git, repository.common_dir) if each.path == row.path]
        if there and is_unready(row, there[0]):
            await anyio.to_thread.run_sync(_clear_what_was_begun, row.path)
            await _remove(git, repository, row, "--force", "--force")  # once for changes, once for our lock
        elif there and row.git_dir and await anyio.to_thread.run_sync(git_directory, row.path) == row.git_dir:
            await _remove(git, repository, row, "--force")
    except BetcodeError as trouble:
        logger.warning("a worktree could not be taken back: %s", trouble.message, extra={"path": row.path})
        return trouble.message
    return await take_branch_back(git, repository, row)


def _clear_what_was_begun(path: str) -> None:
    """Delete an incomplete directory: git does not, if it was ended before it had written its link. It may block."""
    if git_directory(path):
        return
    with suppress(OSError):
        names = os.listdir(path)  # noqa: PTH208 - only names
        if names in ([], [".git"]):
            for name in names:
                Path(path, name).unlink()
            Path(path).rmdir()


async def take_branch_back(git: Git, repository: RepositoryRow, row: WorktreeRow) -> str:
    """Remove the created branch if it is unused; return why it could not be removed, for people."""
    try:
        if row.made_branch:
            await _remove_branch(git, repository, row)
    except BetcodeError as trouble:
        logger.warning("a branch could not be taken back: %s", trouble.message, extra={"branch": row.branch})
        return trouble.message
    return ""


async def _remove(git: Git, repository: RepositoryRow, row: WorktreeRow, *force: str) -> None:
    words = ("worktree", "remove", *force, "--", row.path)
    await git.run(*words, at=repository.common_dir, bound_s=_REMOVE_WITHIN_S)


async def _remove_branch(git: Git, repository: RepositoryRow, row: WorktreeRow) -> None:
    """Only as it was made: its log has one entry, which names this worktree, and it is where it began."""
    at, ref = repository.common_dir, f"refs/heads/{row.branch}"
    log = await git.ask("reflog", "show", "--format=%H %gs", ref, "--", at=at)
    if log.code or log.text.strip() != f"{row.base} {_reason(row)}":
        return
    await git.run("update-ref", "-d", ref, row.base, at=at)
    await git.ask("config", "--local", "--remove-section", f"branch.{row.branch}", at=at)


async def holds_only_what_git_wrote(git: Git, row: WorktreeRow, git_dir: str) -> bool:
    """Return whether every file in an unfinished worktree is unchanged from its commit.

    Raises:
        GitFailed
    """
    private = {"GIT_INDEX_FILE": str(Path(git_dir) / "betcode-index")}
    try:
        await git.run("read-tree", "HEAD", at=row.path, variables=private)
        asked = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignored", "--ignore-submodules=all")
        found = (await git.run(*asked, at=row.path, variables=private)).split(b"\0")
    finally:
        await anyio.to_thread.run_sync(lambda: Path(private["GIT_INDEX_FILE"]).unlink(missing_ok=True))
    return all(line.startswith(b" D ") for line in found if line)


async def complete(git: Git, row: WorktreeRow) -> None:
    """Write the missing files of an unfinished worktree; existing ones are unchanged.

    Raises:
        GitFailed, StorageDegraded
    """
    await git.run("read-tree", "HEAD", at=row.path)
    missing = await git.run("ls-files", "-z", "--deleted", at=row.path)
    words = ("checkout-index", "-z", "--stdin")
    await git.run(*words, at=row.path, stdin=missing, variables=MAY_FETCH, bound_s=_ADD_WITHIN_S)


def _reason(row: WorktreeRow) -> str:
    return f"betcode: for the worktree {row.id}"
