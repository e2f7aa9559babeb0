"""Reads the changes in a working tree from git, record by record."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from betcode.git.command import Git
from betcode.git.records import records
from betcode.git.tree import LONG_S, Tree

_ABSENT = "000000"
_GITLINK = "160000"


@dataclass(frozen=True, slots=True)
class Changed:
    """A path that is not what HEAD has."""

    path: str
    status: str  # two letters, as `git status --short` writes them
    from_path: str = ""  # where it was renamed or copied from
    is_untracked: bool = False
    submodule: str = ""  # how a submodule is changed: "C" another commit, "M" files in it, "U" untracked files in it
    is_unmerged: bool = False
    is_present: bool = True  # in the working tree
    differs_from_index: bool = True

    @property
    def is_inside_submodule(self) -> bool:
        """Return whether only files inside a submodule are changed."""
        return bool(self.submodule) and self.is_present and self.status == " M" and "C" not in self.submodule

    @property
    def is_repository(self) -> bool:
        """Return whether it is an untracked directory that is a repository: git does not descend into it."""
        return self.is_untracked and self.path.endswith("/")


@dataclass(frozen=True, slots=True)
class Head:
    """The current checkout."""

    commit: str  # empty: there is none yet
    branch: str  # empty: HEAD is detached


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An entry of the index that is not a plain one."""

    path: str
    mode: str
    object: str
    stage: int
    is_assumed: bool  # "assume unchanged": git does not check the file
    is_skipped: bool  # "skip worktree": the file need not be there

    @property
    def is_submodule(self) -> bool:
        return self.mode == _GITLINK

    @property
    def is_hidden(self) -> bool:
        """Return whether git reports no change of the file."""
        return self.stage == 0 and (self.is_assumed or self.is_skipped)


async def changes(
    git: Git, tree: Tree, *, renames: bool = False, submodules: bool = True
) -> AsyncGenerator[Changed | Head, None]:
    """First the head, then each change. Hold it in `aclosing`.

    Raises:
        GitFailed
    """
    arguments = (
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--no-ahead-behind",
        "--untracked-files=all",
        "--ignored=no",
        "--renames" if renames else "--no-renames",
        f"--ignore-submodules={'none' if submodules else 'all'}",
    )
    commit = ""
    async with aclosing(_records(git, tree, arguments)) as told:
        async for record in told:
            kind = record[:1]
            if kind == "#":
                word, _, value = record[2:].partition(" ")
                if word == "branch.oid":
                    commit = "" if value == "(initial)" else value
                elif word == "branch.head":
                    yield Head(commit, "" if value == "(detached)" else value)
            elif kind == "2":
                yield _renamed(record, await anext(told))
            elif kind in "1u?":
                yield _changed(kind, record)


def _changed(kind: str, record: str) -> Changed:
    if kind == "?":
        return Changed(record[2:], "??", is_untracked=True)
    if kind == "u":
        _, letters, sub, _, _, _, mode, _, _, _, path = record.split(" ", 10)
        return Changed(path, letters, submodule=_submodule(sub), is_unmerged=True, is_present=mode != _ABSENT)
    _, letters, sub, _, _, mode, _, _, path = record.split(" ", 8)
    return Changed(
        path,
        letters.replace(".", " "),
        submodule=_submodule(sub),
        is_present=mode != _ABSENT,
        differs_from_index=letters[1] != ".",
    )


def _renamed(record: str, from_path: str) -> Changed:
    _, letters, sub, _, _, mode, _, _, _, path = record.split(" ", 9)
    return Changed(
        path,
        letters.replace(".", " "),
        from_path,
        submodule=_submodule(sub),
        is_present=mode != _ABSENT,
        differs_from_index=letters[1] != ".",
    )


def _submodule(letters: str) -> str:
    return letters.replace(".", "") if letters[0] == "S" else ""


async def odd_entries(git: Git, tree: Tree, index: str | Path = "") -> list[IndexEntry]:
    """Yield the entries of the index that a status does not report: unmerged ones, submodules, and hidden ones.

    Raises:
        GitFailed
    """
    found = []
    async with aclosing(_records(git, tree, ("ls-files", "-v", "--stage", "-z"), index)) as told:
        async for record in told:
            if not record.startswith(("H 100", "H 120")):
                letter, mode, name, rest = record.split(" ", 3)
                stage, _, path = rest.partition("\t")
                found.append(IndexEntry(path, mode, name, int(stage), letter.islower(), letter in "Ss"))
    return found


def _records(git: Git, tree: Tree, arguments: tuple[str, ...], index: str | Path = "") -> AsyncGenerator[str, None]:
    variables = {**tree.variables, "GIT_INDEX_FILE": str(index)} if index else tree.variables
    return records(git.stream(*arguments, at=tree.top, variables=variables, bound_s=LONG_S))
