"""Stores and restores the repositories of submodules, which git keeps in the worktree's git directory."""

import json
import logging
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio.to_thread

from betcode.domain.errors import GitFailed
from betcode.git.command import Git
from betcode.git.private_repository import remove
from betcode.git.tree import Tree
from betcode.worktrees.inspect.submodules import FilledSubmodule
from betcode.worktrees.remove.keep_commit import KeepCommit, KeepCommitBuilder
from betcode.worktrees.remove.restore_tree import TreeRestorer

logger = logging.getLogger(__name__)

_REF = "refs/betcode/trash/removed"  # in the submodule's own repository, so that its git keeps the commit
_LIST = "submodules.json"
_MARK = "betcode: a submodule of a worktree\n"


@dataclass(frozen=True, slots=True)
class _Module:
    path: str  # of its files, below the worktree's top
    module: str  # of its repository, below git's directory of the worktree
    commit: str
    index: str
    rest: str


async def store_submodules(
    git: Git, tree: Tree, filled: list[FilledSubmodule], into: Path, scratch: Path, now_ns: int
) -> None:
    """Copy the repositories of all submodules, each with its files.

    Raises:
        GitFailed, StorageDegraded, OSError
    """
    kept = []
    for number, each in enumerate(filled):
        place = scratch / f"module-{number}"
        found: KeepCommit = await KeepCommitBuilder(git, each.tree, place).kept(
            {"submodule": each.path}, (), now_ns, _MARK
        )
        await each.tree.run(git, "update-ref", _REF, found.commit)
        await anyio.to_thread.run_sync(remove, found.keep)
        module = os.path.relpath(each.tree.git_dir, tree.git_dir)
        kept.append(_Module(each.path, module, found.commit, found.index, found.rest))
    await anyio.to_thread.run_sync(_copy, Path(tree.git_dir) / "modules", into / "modules")
    await anyio.to_thread.run_sync((into / _LIST).write_text, json.dumps([asdict(each) for each in kept]))


async def restore_submodules(git: Git, tree: Tree, kept: Path, scratch: Path) -> None:
    """Restore the repositories, and the files of those that were checked out; nothing if none were saved.

    Raises:
        GitFailed, StorageDegraded, OSError
    """
    try:
        listed = json.loads(await anyio.to_thread.run_sync((kept / _LIST).read_text))
    except FileNotFoundError:
        return
    await anyio.to_thread.run_sync(_copy, kept / "modules", Path(tree.git_dir) / "modules")
    for number, facts in enumerate(listed):
        each = _Module(**facts)
        git_dir = Path(tree.git_dir) / each.module
        top = Path(tree.top) / each.path
        if ".." in Path(each.module).parts or ".." in Path(each.path).parts:
            raise GitFailed(f"The submodule {each.path} was not saved")
        await anyio.to_thread.run_sync(_link, top, git_dir, each.path)
        config = ("config", "-f", str(git_dir / "config"), "core.worktree", os.path.relpath(top, git_dir))
        await git.run(*config, at=git_dir.parent)
        inner = Tree(str(top), str(git_dir), str(git_dir), may_fetch=True)
        await TreeRestorer(git, inner, scratch / f"module-{number}").fill(each.commit, each.index, each.rest)
        await inner.run(git, "update-ref", "-d", _REF)


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, copy_function=_linked_or_copied)


def _linked_or_copied(source: str, target: str) -> None:
    """Objects never change: one file under two names will do, where both are on one disk."""
    if "/objects/" in source:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:
            pass
        else:
            return
    shutil.copy2(source, target, follow_symlinks=False)


def _link(top: Path, git_dir: Path, path: str) -> None:
    """Have the directory of a submodule lead to its repository.

    Raises:
        GitFailed, OSError
    """
    if not git_dir.is_dir():
        raise GitFailed(f"The submodule {path} was not saved")
    top.mkdir(parents=True, exist_ok=True)
    (top / ".git").write_text(f"gitdir: {os.path.relpath(git_dir, top)}\n")
