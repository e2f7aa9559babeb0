"""Determines branch, commit, name and path of a new worktree. Changes nothing."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from betcode.domain.errors import BranchNotFound, InvalidRequest, WorktreeExists
from betcode.domain.repositories.worktrees import RepositoryRow, WorktreeOrigin, WorktreeRow, WorktreeState
from betcode.domain.values.text import shortened
from betcode.git.command import Git
from betcode.git.commits import commit_named
from betcode.git.names import check_branch, check_commit_words, check_worktree_name, name_of_branch
from betcode.git.repository import ListedWorktree

_PATH_BYTES = 3000  # git adds to it, and the system takes 4096


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """What somebody asks for."""

    repo_path: str
    branch: str
    name: str = ""
    path: str = ""
    create_branch: bool = False
    base: str = ""
    roll_back: bool = False  # where the setup fails
    not_set_up: str = ""  # why there is to be no setup; empty: there is to be one

    def checked(self) -> "CreateRequest":
        """The same, if its words make sense; nothing else is looked at.

        Raises:
            InvalidRequest
        """
        check_branch(self.branch)
        if self.base and not self.create_branch:
            raise InvalidRequest("A base is for a new branch: ask for one (--new), or leave the base out")
        if self.base:
            check_commit_words(self.base)
        if self.path and (not Path(self.path).is_absolute() or not self.path.isprintable()):
            raise InvalidRequest(f"{shortened(self.path, 200)!r} is not an absolute path: give one that begins with /")
        if len(self.path.encode()) > _PATH_BYTES:
            raise InvalidRequest("The path is too long: give a shorter one")
        name_for(self)
        return self


@dataclass(frozen=True, slots=True)
class StartPoint:
    """Where the new worktree's HEAD begins."""

    branch: str
    commit: str = ""  # that the branch is made from; empty: it is there
    upstream: str = ""  # of a branch that is made from a remote one


def name_for(wanted: CreateRequest) -> str:
    """Raises InvalidRequest: the branch gives no name for a directory, and nobody gave another."""
    name = wanted.name or name_of_branch(wanted.branch)
    try:
        return check_worktree_name(name)
    except InvalidRequest as wrong:
        raise InvalidRequest(wrong.message if wanted.name else f"{wrong.message}; give one with --name") from None


async def path_for(wanted: CreateRequest, repository: RepositoryRow) -> str:
    """Where it goes, links followed.

    Raises:
        InvalidRequest: there it cannot be.
    """
    path = wanted.path or _beside(repository, name_of_branch(wanted.branch))
    return await anyio.to_thread.run_sync(place_at, path, repository)


async def check_free(path: str) -> None:
    """There is a directory above it that can be written to, and nothing at it.

    Raises:
        InvalidRequest, WorktreeExists
    """
    await anyio.to_thread.run_sync(_check_free, Path(path))


def _beside(repository: RepositoryRow, suffix: str) -> str:
    main = Path(repository.path)
    own_name = main.name.removesuffix(".git") if repository.is_bare else main.name
    if repository.is_bare and not own_name:  # the ".git" of a directory that has only worktrees in it
        own_name, main = main.parent.name, main.parent
    return str(main.parent / f"{own_name}-{suffix}")


def place_at(wanted: str, repository: RepositoryRow) -> str:
    """Where a worktree of the repository would be, links followed. It may block.

    Raises:
        InvalidRequest: no worktree can be there.
    """
    if not Path(wanted).is_absolute() or "\0" in wanted:
        raise InvalidRequest(f"{shortened(wanted, 200)!r} is not an absolute path: give one that begins with /")
    path, common = Path(os.path.realpath(wanted)), Path(repository.common_dir)
    if ".git" in path.parts or path == common or common in path.parents:
        raise InvalidRequest(f"{path} is among git's own files: give a path outside them")
    return str(path)


def is_free(path: Path) -> bool:
    """Whether nothing is there, or an empty directory. It may block.

    Raises:
        OSError
    """
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def _check_free(path: Path) -> None:
    try:
        if not is_free(path):
            raise WorktreeExists(f"There is something at {path} already: give another path, or move that away")
        if not path.parent.is_dir():
            raise InvalidRequest(f"{path.parent} is no directory: make it first, or give another path")
        written = path if path.is_dir() else path.parent
        if not os.access(written, os.W_OK | os.X_OK):
            raise InvalidRequest(f"Nothing can be written to {written}: give a path elsewhere with --path")
    except OSError as trouble:
        raise InvalidRequest(f"{path} cannot be used: {trouble.strerror}") from None


async def start_for(
    git: Git,
    wanted: CreateRequest,
    repository: RepositoryRow,
    listed: Sequence[ListedWorktree],
    reused_row: WorktreeRow | None,
) -> StartPoint:
    """Raises BranchNotFound, WorktreeExists, GitFailed."""
    at, branch = repository.common_dir, wanted.branch
    is_there = bool(await commit_named(git, at, f"refs/heads/{branch}"))
    if wanted.create_branch:
        return StartPoint(branch, await _base(git, wanted, at, is_there))
    for each in listed:
        if each.branch == branch and not (reused_row and each.prunable and each.path == reused_row.path):
            raise WorktreeExists(_checked_out(branch, each))
    return StartPoint(branch) if is_there else await _remote(git, at, branch)


async def _base(git: Git, wanted: CreateRequest, at: str, is_there: bool) -> str:
    if is_there:
        raise WorktreeExists(f"There is a branch {wanted.branch} already: leave --new out, or give another name")
    commit = await commit_named(git, at, wanted.base or "HEAD")
    if not commit and wanted.base:
        raise BranchNotFound(f"The repository has no branch, tag or commit {wanted.base!r} to begin from")
    if not commit:
        raise BranchNotFound(
            "The repository has nothing to begin from, since its HEAD is at no commit yet: make the first commit, "
            "or give a base"
        )
    return commit


async def _remote(git: Git, at: str, branch: str) -> StartPoint:
    """A branch that one remote has, as git itself would guess it."""
    remotes = (await git.run("remote", at=at)).decode(errors="surrogateescape").split()
    found = {}
    for remote in remotes:
        if commit := await commit_named(git, at, f"refs/remotes/{remote}/{branch}"):
            found[remote] = StartPoint(branch, commit, f"{remote}/{branch}")
    if len(found) > 1:
        preferred = (await git.ask("config", "--get", "checkout.defaultRemote", at=at)).text.strip()
        if preferred not in found:
            names = ", ".join(sorted(found))
            raise BranchNotFound(
                f"There is no branch {branch} here, and several remotes have one ({names}): name it as the base of a "
                f"new branch (--new --base {min(found)}/{branch})"
            )
        return found[preferred]
    if found:
        return next(iter(found.values()))
    raise BranchNotFound(f"There is no branch {branch}: make it with --new, or fetch it first")


def _checked_out(branch: str, there: ListedWorktree) -> str:
    where = f"The branch {branch} is checked out at {there.path}"
    if there.prunable:
        return f"{where}, which is gone: forget it with git worktree prune, or make a new branch (--new)"
    return f"{where} already: work there, or make a new branch (--new)"


def reused_row(rows: Sequence[WorktreeRow], name: str, path: str) -> WorktreeRow | None:
    """The row of a worktree that is gone and comes back by this; None: there is none, and name and path are free.

    Raises:
        WorktreeExists
    """
    there = [row for row in rows if row.name == name or row.path == path]
    for row in there:
        if row.state is not WorktreeState.STALE or row.origin is WorktreeOrigin.MAIN:
            what = f"is at {row.path}" if row.name == name else f"is there and is called {row.name}"
            being = {WorktreeState.CREATING: ", being made", WorktreeState.REMOVING: ", being removed"}
            raise WorktreeExists(
                f"A worktree {name if row.name == name else row.path} {what} already{being.get(row.state, '')}: "
                "give another name or path, or remove that one"
            )
    if len(there) > 1:
        raise WorktreeExists(f"Two worktrees that are gone were called {name} or stood at {path}: forget one of them")
    return there[0] if there else None
