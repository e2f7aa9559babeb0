"""Determine branch, commit, name and path of a new worktree. Changes nothing."""

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
    """The parameters of a new worktree."""

    repo_path: str
    branch: str
    name: str = ""
    path: str = ""
    create_branch: bool = False
    base: str = ""
    roll_back: bool = False  # where the setup fails
    not_set_up: str = ""  # why no setup is run; empty: it is run

    def checked(self) -> "CreateRequest":
        """Validate the texts; nothing else is checked.

        Raises:
            InvalidRequest
        """
        check_branch(self.branch)
        if self.base and not self.create_branch:
            raise InvalidRequest("A base requires a new branch: add --new, or omit the base")
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
    """The commit and branch where the new worktree's HEAD begins."""

    branch: str
    commit: str = ""  # that the branch is made from; empty: it is there
    upstream: str = ""  # of a branch that is made from a remote one


def name_for(wanted: CreateRequest) -> str:
    """Return the directory name; raises InvalidRequest if the branch gives none and no other is given."""
    name = wanted.name or name_of_branch(wanted.branch)
    try:
        return check_worktree_name(name)
    except InvalidRequest as wrong:
        raise InvalidRequest(wrong.message if wanted.name else f"{wrong.message}; give one with --name") from None


async def path_for(wanted: CreateRequest, repository: RepositoryRow) -> str:
    """Return its path, links followed.

    Raises:
        InvalidRequest: the path is not allowed.
    """
    path = wanted.path or _beside(repository, name_of_branch(wanted.branch))
    return await anyio.to_thread.run_sync(place_at, path, repository)


async def check_free(path: str) -> None:
    """Check that the directory above the path is writable, and that the path is free.

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
    """Return the path of a new worktree, links followed. It may block.

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
    """Return whether nothing is there, or an empty directory. It may block.

    Raises:
        OSError
    """
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def _check_free(path: Path) -> None:
    try:
        if not is_free(path):
            raise WorktreeExists(f"{path} already exists: give another path, or move it away")
        if not path.parent.is_dir():
            raise InvalidRequest(f"{path.parent} is not a directory: create it first, or give another path")
        written = path if path.is_dir() else path.parent
        if not os.access(written, os.W_OK | os.X_OK):
            raise InvalidRequest(f"{written} is not writable: give another path with --path")
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
        raise WorktreeExists(f"The branch {wanted.branch} already exists: omit --new, or give another name")
    commit = await commit_named(git, at, wanted.base or "HEAD")
    if not commit and wanted.base:
        raise BranchNotFound(f"The repository has no branch, tag or commit {wanted.base!r} to start from")
    if not commit:
        raise BranchNotFound(
            "The repository has no commit to start from, since its HEAD has none yet: make the first commit, "
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
                f"There is no branch {branch} here, and several remotes have one ({names}): give one as the base of a "
                f"new branch (--new --base {min(found)}/{branch})"
            )
        return found[preferred]
    if found:
        return next(iter(found.values()))
    raise BranchNotFound(f"There is no branch {branch}: create it with --new, or fetch it first")


def _checked_out(branch: str, there: ListedWorktree) -> str:
    where = f"The branch {branch} is checked out at {there.path}"
    if there.prunable:
        return f"{where}, which is missing: forget it with git worktree prune, or make a new branch (--new)"
    return f"{where} already: work there, or make a new branch (--new)"


def reused_row(rows: Sequence[WorktreeRow], name: str, path: str) -> WorktreeRow | None:
    """Return the row of a missing worktree that is created again; None: there is none, and name and path are free.

    Raises:
        WorktreeExists
    """
    there = [row for row in rows if row.name == name or row.path == path]
    for row in there:
        if row.state is not WorktreeState.STALE or row.origin is WorktreeOrigin.MAIN:
            what = f"exists at {row.path}" if row.name == name else f"exists with the name {row.name}"
            being = {WorktreeState.CREATING: " and is being created", WorktreeState.REMOVING: " and is being removed"}
            raise WorktreeExists(
                f"A worktree {name if row.name == name else row.path} already {what}{being.get(row.state, '')}: "
                "give another name or path, or remove that one"
            )
    if len(there) > 1:
        raise WorktreeExists(
            f"Two missing worktrees were named {name} or were at {path}: forget one of them with betcode worktree prune"
        )
    return there[0] if there else None
