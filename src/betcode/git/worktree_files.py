"""Reads the locations of worktrees from git's files."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from betcode.domain.values.text import valid
from betcode.git.command import Git
from betcode.git.links import line_of
from betcode.git.repository import git_directory, nearest_top


@dataclass(frozen=True, slots=True)
class OnDisk:
    """The state of the path of a worktree."""

    git_dir: str = ""  # git's own directory of it; empty: there is no worktree
    mark: str = ""  # belongs to git's directory even after a move, and is unique; empty: unknown


NOTHING = OnDisk()
_ON_BRANCH = "ref: refs/heads/"
_NOT_IN_FILES = ".invalid"  # the content of HEAD if git stores its refs in tables
_LONGEST_BRANCH = 1000
_COMMIT = re.compile("[0-9a-f]{40,64}")
_SHORT = 8


def on_disk(path: str) -> OnDisk:
    """Return the worktree at that path, as the files show it. It may block."""
    git_dir = git_directory(path)
    if not git_dir or not Path(git_dir).is_dir():
        return NOTHING
    return OnDisk(git_dir, mark_of(git_dir))


def branch_at(directory: str, *, or_commit: bool = False) -> str:
    """Return the branch that is checked out in a directory; empty: none, or there is no repository. It may block.

    With `or_commit`, returns the beginning of a detached commit instead of an empty text.
    """
    top = nearest_top(directory)
    git_dir = git_directory(top) if top else ""
    try:
        head = line_of(Path(git_dir) / "HEAD") if git_dir else ""
    except (OSError, ValueError):
        return ""
    if or_commit and _COMMIT.fullmatch(head):
        return head[:_SHORT]
    name = valid(head.removeprefix(_ON_BRANCH)) if head.startswith(_ON_BRANCH) else ""
    return "" if name == _NOT_IN_FILES or len(name) > _LONGEST_BRANCH else name


def mark_of(git_dir: str) -> str:
    """From a file that git writes when it makes the directory, and never again. It may block."""
    for name in ("commondir", "description"):  # of a linked worktree, of a repository
        try:
            facts = (Path(git_dir) / name).lstat()
        except OSError:
            continue
        return f"{facts.st_ino}:{facts.st_mtime_ns}"
    return ""


async def configured_top(git: Git, common_dir: str) -> str:
    """Return the main worktree if git's directory names it, as that of a submodule does.

    Empty if it does not, or if the named directory does not agree: settings could name any directory.

    Raises:
        GitFailed
    """
    answer = await git.ask("config", "--get", "core.worktree", at=common_dir)
    named = answer.text.removesuffix("\n")
    if answer.code or not named:
        return ""
    return await anyio.to_thread.run_sync(_agreed_top, common_dir, named, abandon_on_cancel=True)


def _agreed_top(common_dir: str, named: str) -> str:
    top = os.path.realpath(Path(common_dir) / named)
    return top if git_directory(top) == common_dir else ""
