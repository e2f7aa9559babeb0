"""A working tree and its git directory, whatever their paths."""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from betcode.git.command import Git
from betcode.git.environment import MAY_FETCH
from betcode.git.repository import git_directory

LONG_S = 1800.0  # for what reads or writes every file


@dataclass(frozen=True, slots=True)
class Tree:
    """Both paths are passed to git: a tree that was moved aside is no worktree that git would find by itself."""

    top: str
    git_dir: str  # of this worktree
    common_dir: str  # of its repository
    may_fetch: bool = False  # the missing objects of a partial clone

    @property
    def variables(self) -> Mapping[str, str]:
        return {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.top, **(MAY_FETCH if self.may_fetch else {})}

    @property
    def objects(self) -> str:
        return str(Path(self.common_dir) / "objects")

    async def run(self, git: Git, *arguments: str, stdin: bytes = b"", index: str | Path = "") -> bytes:
        """Return git's output; uses a private index if one is given.

        Raises:
            GitFailed, StorageDegraded
        """
        variables = {**self.variables, "GIT_INDEX_FILE": str(index)} if index else self.variables
        return await git.run(*arguments, at=self.top, stdin=stdin, variables=variables, bound_s=LONG_S)

    def copy_index(self, to: Path) -> None:
        """Have a private copy of the index, if there is one. It may block."""
        with suppress(FileNotFoundError):
            # With its time, by which git recognises entries that were written in the same instant as their files.
            shutil.copy2(Path(self.git_dir) / "index", to)


def submodule_tree(top: str) -> Tree | None:
    """The tree of a submodule that is filled; None where it is not. It may block."""
    git_dir = git_directory(top)
    if not git_dir or not os.path.isdir(git_dir):  # noqa: PTH112
        return None
    return Tree(os.path.realpath(top), git_dir, git_dir)
