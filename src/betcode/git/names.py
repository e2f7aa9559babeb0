"""Validates the names of branches, commits and worktrees before git sees them.

The rules are those of `git check-ref-format --branch`; tests compare the two.
"""

import re

from betcode.domain.errors import InvalidRequest
from betcode.domain.values.text import is_valid, shortened

_BRANCH_BYTES = 200  # a file system takes 255 of one component, and our paths are made from it
_NAME_BYTES = 100
_NOT_IN_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_NOT_IN_A_NAME = re.compile(r"[\x00-\x20\x7f/\\:]")


def check_branch(name: str) -> str:
    """Return the name of a branch if git would accept it.

    Raises:
        InvalidRequest: it would not; nothing was run.
    """
    if not is_branch_name(name):
        raise InvalidRequest(
            f"{_shown(name)} is not a valid branch name: use letters, digits, dots, dashes and slashes between them"
        )
    if len(name.encode()) > _BRANCH_BYTES:
        raise InvalidRequest(f"The branch {_shown(name)} has more than {_BRANCH_BYTES} bytes: give a shorter name")
    return name


def is_branch_name(name: str) -> bool:
    """Return whether `git check-ref-format --branch` accepts the name unchanged."""
    if name in ("", "@", "HEAD") or name.startswith(("-", "/")) or name.endswith(("/", ".")):
        return False
    if _NOT_IN_A_REF.search(name) or not is_valid(name):
        return False
    return not any(part.startswith(".") or part.endswith(".lock") for part in name.split("/"))


def check_worktree_name(name: str) -> str:
    """The name of a worktree: one plain component of a path.

    Raises:
        InvalidRequest: it is none.
    """
    is_plain = bool(name) and not name.startswith(("-", ".")) and not _NOT_IN_A_NAME.search(name) and name.isprintable()
    if not is_plain or name.endswith((".", ".lock")) or not is_valid(name):
        raise InvalidRequest(
            f"{_shown(name)} is not a valid worktree name: use letters, digits, dots and dashes, such as fix-login"
        )
    if len(name.encode()) > _NAME_BYTES:
        raise InvalidRequest(f"The name {_shown(name)} has more than {_NAME_BYTES} bytes: give a shorter one")
    return name


def check_commit_words(words: str) -> str:
    """Validate an argument for `git rev-parse`: a branch, a tag, a commit, and steps from it.

    Raises:
        InvalidRequest: it could be an option, or more than one argument.
    """
    is_one = bool(words) and not words.startswith(("-", "^")) and words.isprintable() and " " not in words
    if not is_one or ".." in words or ":" in words or len(words.encode()) > _BRANCH_BYTES:
        raise InvalidRequest(f"{_shown(words)} is not a branch, tag or commit: give one, such as main or v1.2")
    return words


def name_of_branch(branch: str) -> str:
    """The name that a worktree gets from its branch."""
    return branch.replace("/", "-")


def _shown(text: str) -> str:
    return repr(shortened(text, 60))
