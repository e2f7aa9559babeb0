"""Finds what exists only in a worktree and would be lost with it."""

import os
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import anyio.to_thread

from betcode.domain.repositories.worktrees import WorktreeRow
from betcode.domain.values.phrases import counted, joined, named
from betcode.git.command import Git
from betcode.git.status import Changed, Head, IndexEntry, changes, odd_entries
from betcode.git.tree import Tree
from betcode.worktrees.create.untracked_copies import changed_since
from betcode.worktrees.inspect.git_operations import in_progress
from betcode.worktrees.inspect.hidden_changes import hidden_changes
from betcode.worktrees.inspect.submodules import SubmoduleWork, held_by_submodules

LISTED = 1000  # of each kind; all are counted
_LISTED_BYTES = 256 * 1024  # of names, so that an answer can be sent
COMMITS_LISTED = 100
_NO_HEAD = Head("", "")


@dataclass(frozen=True, slots=True)
class Commit:
    id: str
    subject: str
    committed_ns: int


@dataclass(frozen=True, slots=True)
class Contents:
    """The lists are bounded, the counts are true."""

    head: Head = _NO_HEAD
    changed: tuple[Changed, ...] = ()
    untracked: tuple[str, ...] = ()
    unpushed: tuple[Commit, ...] = ()
    in_progress: str = ""
    brought_along_changed: tuple[str, ...] = ()
    submodules: tuple[SubmoduleWork, ...] = ()
    repositories: tuple[str, ...] = ()  # untracked directories that are repositories
    changed_count: int = 0
    untracked_count: int = 0
    unpushed_count: int = 0

    @property
    def is_clean(self) -> bool:
        """Return whether removing it loses nothing."""
        counts = self.changed_count + self.untracked_count + self.unpushed_count
        return not (counts or self.in_progress or self.brought_along_changed or self.submodules or self.repositories)

    @property
    def words(self) -> str:
        """Return what would be lost, for the middle of a sentence; names are safe to show."""
        parts = [
            counted(self.changed_count, "changed file", [each.path for each in self.changed]),
            counted(self.untracked_count, "untracked file", self.untracked),
            counted(
                self.unpushed_count,
                "commit",
                [f"{each.id[:7]} {each.subject}" for each in self.unpushed],
                one="that exists nowhere else",
                many="that exist nowhere else",
            ),
            counted(
                len(self.brought_along_changed),
                "changed copy of a file that betcode copied",
                (self.brought_along_changed),
                plural="changed copies of files that betcode copied",
            ),
            *(held.words for held in self.submodules),
            *(f"a nested repository in {named(path)}" for path in self.repositories[:3]),
            f"{self.in_progress} that is not finished" if self.in_progress else "",
        ]
        return joined([part for part in parts if part])


@dataclass(slots=True)
class _Bounded:
    """Names, as many as an answer takes."""

    count: int = 0
    bytes: int = 0
    names: list[str] = field(default_factory=list)

    def takes(self, name: str) -> bool:
        self.count += 1
        self.bytes += len(name)
        return len(self.names) < LISTED and self.bytes <= _LISTED_BYTES

    def add(self, name: str) -> None:
        if self.takes(name):
            self.names.append(name)


async def contents_of(git: Git, tree: Tree, row: WorktreeRow) -> Contents:
    """Return what is in the worktree now; nothing is changed.

    Raises:
        GitFailed
    """
    head = _NO_HEAD
    changed: list[Changed] = []
    tracked, untracked, repositories = _Bounded(), _Bounded(), _Bounded()
    async with aclosing(changes(git, tree, renames=True)) as found:
        async for each in found:
            match each:
                case Head():
                    head = each
                case Changed(is_repository=True):
                    repositories.add(each.path)
                case Changed(is_untracked=True) if each.path not in row.brought_along:
                    untracked.add(each.path)
                case Changed(is_untracked=False, is_inside_submodule=False):
                    if tracked.takes(each.path):
                        tracked.names.append(each.path)
                        changed.append(each)
                case _:
                    pass  # copied on creation, or reported with its submodule
    odd = await odd_entries(git, tree)
    hidden = await hidden_changes(git, tree, [each for each in odd if each.is_hidden])
    changed += hidden[: max(LISTED - len(changed), 0)]
    unpushed, unpushed_count = await unpushed_of(git, tree, head)
    return Contents(
        head,
        tuple(changed),
        tuple(untracked.names),
        unpushed,
        await anyio.to_thread.run_sync(in_progress, Path(tree.git_dir)),
        tuple(await anyio.to_thread.run_sync(changed_since, Path(tree.top), row.brought_along)),
        tuple(await held_by_submodules(git, tree, _submodules(odd))),
        tuple(repositories.names),
        tracked.count + len(hidden),
        untracked.count,
        unpushed_count,
    )


def _submodules(odd: Sequence[IndexEntry]) -> list[str]:
    return [each.path for each in odd if each.is_submodule]


async def unpushed_of(git: Git, tree: Tree, head: Head, *, any_branch: bool = False) -> tuple[tuple[Commit, ...], int]:
    """The commits that no other branch and no remote-tracking branch reaches, the newest first, and their number.

    Raises:
        GitFailed
    """
    if not head.commit:
        return (), 0
    own = () if any_branch or not head.branch else (f"--exclude={head.branch}",)
    which = (head.commit, "--not", *own, "--branches", "--remotes")
    at, variables = tree.common_dir, {"GIT_DIR": tree.common_dir}
    count = int(await git.run("rev-list", "--count", *which, at=at, variables=variables, bound_s=120.0))
    if not count:
        return (), 0
    listed = ("rev-list", f"--max-count={COMMITS_LISTED}", "--no-commit-header", "--encoding=UTF-8")
    out = await git.run(*listed, "--format=%H %ct %s", *which, at=at, variables=variables, bound_s=120.0)
    return tuple(_commit(line) for line in os.fsdecode(out).splitlines() if line), count


def _commit(line: str) -> Commit:
    name, seconds, subject = (*line.split(" ", 2), "")[:3]
    return Commit(name, subject, int(seconds) * 10**9)
