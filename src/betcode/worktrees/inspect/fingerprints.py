"""Fingerprints a worktree, to detect writes between two inspections."""

import hashlib
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import anyio.to_thread

from betcode.git.command import Git
from betcode.git.status import Changed, Head, changes
from betcode.git.tree import Tree


async def fingerprint(git: Git, tree: Tree) -> str:
    """Return a value that changes with any file; without submodules, which work only at their original path.

    Raises:
        GitFailed
    """
    async with aclosing(changes(git, tree, submodules=False)) as found:
        seen = [each async for each in found]
    return await anyio.to_thread.run_sync(_of, tree, seen)


def _of(tree: Tree, seen: Sequence[Changed | Head]) -> str:
    taken = hashlib.sha256(_facts(Path(tree.git_dir) / "index"))
    for each in seen:
        taken.update(repr(each).encode(errors="surrogateescape"))
        if isinstance(each, Changed) and each.is_present:
            taken.update(_facts(Path(tree.top) / each.path))
    return taken.hexdigest()


def _facts(file: Path) -> bytes:
    try:
        facts = file.lstat()
    except OSError:
        return b"-"
    return repr((facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ino)).encode()
