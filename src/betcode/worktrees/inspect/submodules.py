"""Finds work that exists only in the submodules of a worktree."""

import os
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from betcode.domain.values.phrases import joined, named
from betcode.git.command import Git
from betcode.git.status import Changed, changes, odd_entries
from betcode.git.tree import Tree, submodule_tree

_DEPTH = 8


@dataclass(frozen=True, slots=True)
class SubmoduleWork:
    """Something in one submodule."""

    path: str
    what: str
    is_within: bool = False  # its repository is in the worktree itself, not in the git directory

    @property
    def words(self) -> str:
        return f"{self.what} in the submodule {named(self.path)}"


@dataclass(frozen=True, slots=True)
class FilledSubmodule:
    """A submodule whose files are checked out."""

    path: str  # below the worktree's top
    tree: Tree


async def filled_submodules(git: Git, tree: Tree, paths: Sequence[str], depth: int = _DEPTH) -> list[FilledSubmodule]:
    """Of these, and of those within them, the ones that are filled.

    Raises:
        GitFailed
    """
    found: list[FilledSubmodule] = []
    for path in paths:
        inner = await anyio.to_thread.run_sync(submodule_tree, str(Path(tree.top) / path))
        if inner is None or inner.git_dir in (tree.git_dir, tree.common_dir):
            continue
        found.append(FilledSubmodule(path, inner))
        if depth:
            within = [each.path for each in await odd_entries(git, inner) if each.is_submodule]
            nested = await filled_submodules(git, inner, within, depth - 1)
            found += [FilledSubmodule(f"{path}/{each.path}", each.tree) for each in nested]
    return found


def module_directories(tree: Tree) -> list[Path]:
    """The repositories of submodules that lie in git's directory of the worktree. It may block."""
    modules = Path(tree.git_dir) / "modules"
    return sorted(head.parent for head in modules.rglob("HEAD") if (head.parent / "objects").is_dir())


async def held_by_submodules(git: Git, tree: Tree, paths: Sequence[str]) -> list[SubmoduleWork]:
    """Return what would be lost with them.

    Raises:
        GitFailed
    """
    if tree.git_dir == tree.common_dir:
        return []
    found: list[SubmoduleWork] = []
    seen: set[str] = set()
    for filled in await filled_submodules(git, tree, paths):
        seen.add(filled.tree.git_dir)
        what = joined(
            [words for words in (await _changes(git, filled.tree), await _commits(git, filled.tree.git_dir)) if words]
        )
        if what:
            found.append(SubmoduleWork(filled.path, what, is_within=filled.tree.git_dir.startswith(tree.top + os.sep)))
    modules = Path(tree.git_dir) / "modules"
    for directory in await anyio.to_thread.run_sync(module_directories, tree):
        what = "" if str(directory) in seen else await _commits(git, str(directory))
        found += [SubmoduleWork(str(directory.relative_to(modules)), what)] if what else []
    return found


async def _changes(git: Git, tree: Tree) -> str:
    count = 0
    async with aclosing(changes(git, tree)) as found:
        async for each in found:
            # A nested submodule is reported separately.
            count += isinstance(each, Changed) and not each.is_inside_submodule
    return f"{count} changed {'file' if count == 1 else 'files'}" if count else ""


async def _commits(git: Git, git_dir: str) -> str:
    """Return the commits of its branches, its stash and HEAD, since its whole repository would be deleted."""
    variables = {"GIT_DIR": git_dir, "GIT_WORK_TREE": git_dir}  # its own files may be missing
    heads = await git.ask("rev-parse", "--verify", "-q", "HEAD", at=git_dir, variables=variables)
    stash = await git.ask("rev-parse", "--verify", "-q", "refs/stash", at=git_dir, variables=variables)
    starts = [answer.text.strip() for answer in (heads, stash) if not answer.code]
    which = (*starts, "--branches", "--not", "--remotes", "--tags")
    count = int(await git.run("rev-list", "--count", *which, at=git_dir, variables=variables, bound_s=120.0))
    return f"{count} {'commit that exists' if count == 1 else 'commits that exist'} nowhere else" if count else ""
