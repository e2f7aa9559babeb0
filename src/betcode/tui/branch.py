"""The branch of a directory, from git's files alone."""

from pathlib import Path

from betcode.git.links import line_of
from betcode.git.repository import git_directory, nearest_top

_BRANCHES = "ref: refs/heads/"
_SHORT = 8


def branch_of(directory: str) -> str:
    """Its name, or the beginning of a commit that is checked out by itself; empty where there is neither. May block."""
    try:
        top = nearest_top(directory)
        head = line_of(Path(git_directory(top)) / "HEAD") if top else ""
    except (OSError, ValueError):
        return ""
    return head.removeprefix(_BRANCHES) if head.startswith(_BRANCHES) else head[:_SHORT]
