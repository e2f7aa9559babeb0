"""Locates repositories and worktrees with git."""

import os
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.domain.errors import GitFailed, RepositoryNotFound
from betcode.domain.values.text import is_valid, valid
from betcode.git.command import Git, GitResult, failure
from betcode.git.links import linked_git_directory

_ENOUGH = "--path-format=absolute"
_LOOKS_AGAIN = 10
_LOOK_AGAIN_S = 0.02


@dataclass(frozen=True, slots=True)
class RepositoryLocation:
    """The repository and worktree of a directory."""

    common_dir: str  # of the repository, links followed
    top: str  # of the worktree that the directory is in; empty: it is in none (a bare repository, git's own files)


@dataclass(frozen=True, slots=True)
class ListedWorktree:
    """One of those that `git worktree list` names; the first is the main one."""

    path: str
    head: str = ""  # empty: there is no commit yet
    branch: str = ""  # without refs/heads/; empty: HEAD is detached
    is_bare: bool = False
    is_detached: bool = False
    is_locked: bool = False
    locked: str = ""  # why
    prunable: str = ""  # why git would forget it


async def locate(git: Git, directory: str) -> RepositoryLocation:
    """Return the repository that a directory belongs to.

    Raises:
        RepositoryNotFound: it belongs to none, or to another user's.
        GitFailed
    """
    answer = await git.ask("rev-parse", _ENOUGH, "--git-common-dir", "--is-inside-work-tree", at=directory)
    path, _, inside = answer.text.removesuffix("\n").rpartition("\n")  # a path may contain newlines
    if answer.code or not path:
        raise RepositoryNotFound(_no_repository(directory, answer))
    common_dir = await anyio.to_thread.run_sync(os.path.realpath, path)
    if not is_valid(common_dir):
        raise RepositoryNotFound(f"{valid(common_dir)} has a name that is not UTF-8: rename it")
    if inside != "true":
        return RepositoryLocation(common_dir, "")
    top = await git.run("rev-parse", _ENOUGH, "--show-toplevel", at=directory)
    return RepositoryLocation(
        common_dir, await anyio.to_thread.run_sync(os.path.realpath, os.fsdecode(top).removesuffix("\n"))
    )


def _no_repository(directory: str, answer: GitResult) -> str:
    if "not a git repository" in answer.err:
        return f"{directory} is not in a git repository: change to one, or create one with git init"
    return f"git does not work in {directory}: {answer.words}"


async def listed_worktrees(git: Git, common_dir: str) -> list[ListedWorktree]:
    """All worktrees of a repository, from one call.

    Raises:
        GitFailed
    """
    words = ("worktree", "list", "--porcelain", "-z")
    answer = await git.ask(*words, at=common_dir)
    for _ in range(_LOOKS_AGAIN):
        if not answer.code or "worktrees/" not in answer.err:
            break
        # git stumbles over files that another git is just writing or removing.
        await anyio.sleep(_LOOK_AGAIN_S)
        answer = await git.ask(*words, at=common_dir)
    if answer.code:
        raise failure(answer, words)
    found = await anyio.to_thread.run_sync(_all_listed, answer.text, abandon_on_cancel=True)
    if not found:
        raise GitFailed(f"git lists no worktree of {common_dir}")
    # A path that is no text can neither be stored nor sent. The main one is kept: which is the first must not change.
    return [each for number, each in enumerate(found) if number == 0 or is_valid(each.path)]


def _all_listed(text: str) -> list[ListedWorktree]:
    """Links are followed, so it may block."""
    return [_listed(record) for record in text.split("\0\0") if record]


def _listed(record: str) -> ListedWorktree:
    facts: dict[str, str] = {}
    for line in record.split("\0"):
        name, _, value = line.partition(" ")
        facts[name] = value
    return ListedWorktree(
        path=os.path.realpath(facts.get("worktree", "")),
        head="" if set(facts.get("HEAD", "0")) == {"0"} else facts["HEAD"],
        branch=valid(facts.get("branch", "")).removeprefix("refs/heads/"),
        is_bare="bare" in facts,
        is_detached="detached" in facts,
        is_locked="locked" in facts,
        locked=valid(facts.get("locked", "")),
        prunable=valid(facts.get("prunable", "")),
    )


def git_directory(path: str) -> str:
    """git's own directory of the worktree at that path, from its files; empty where there is none. It may block."""
    link = Path(path) / ".git"
    try:
        return os.path.realpath(link) if link.is_dir() else linked_git_directory(path)
    except (OSError, ValueError):
        return ""


def nearest_top(directory: str) -> str:
    """The nearest directory, at or above, in which git's files or a link to them are; empty: none. It may block."""
    start = Path(os.path.realpath(directory))
    return next((str(each) for each in (start, *start.parents) if os.path.lexists(each / ".git")), "")
