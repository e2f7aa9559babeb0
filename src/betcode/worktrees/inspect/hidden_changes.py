"""Finds changes that git hides because files are marked "assume unchanged" or "skip worktree"."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from betcode.git.command import Git
from betcode.git.status import Changed, IndexEntry
from betcode.git.tree import LONG_S, Tree


async def hidden_changes(git: Git, tree: Tree, hidden: Sequence[IndexEntry]) -> list[Changed]:
    """Return the marked files that exist, or should, and differ from the index.

    Raises:
        GitFailed
    """
    looked_at = await anyio.to_thread.run_sync(to_look_at, tree, hidden)
    if not looked_at:
        return []
    with tempfile.TemporaryDirectory(prefix="betcode-") as private:
        index = Path(private) / "index"
        await anyio.to_thread.run_sync(tree.copy_index, index)
        await unhide(git, tree, looked_at, index)
        # Compares the content; the exit code is 1 if a file is changed.
        variables = {**tree.variables, "GIT_INDEX_FILE": str(index)}
        await git.ask("update-index", "-q", "--refresh", at=tree.top, variables=variables, bound_s=LONG_S)
        out = await tree.run(git, "diff-files", "-z", "--name-status", "--no-renames", index=index)
    words = os.fsdecode(out).split("\0")
    wanted = {each.path for each in looked_at}
    return [
        Changed(path, f" {letter}", is_present=letter != "D")
        for letter, path in zip(words[0::2], words[1::2], strict=False)
        if path in wanted
    ]


def to_look_at(tree: Tree, hidden: Sequence[IndexEntry]) -> list[IndexEntry]:
    """Return the entries to check; an optional file is checked only if it exists. It may block."""
    top = Path(tree.top)
    return [each for each in hidden if not each.is_skipped or is_file_at(top, each.path)]


def is_file_at(top: Path, path: str) -> bool:
    """Return whether it is a file or a link, below the top and not behind a link. It may block."""
    file = top / path
    if ".." in file.parts or not file.is_relative_to(top):
        return False
    behind = any(parent.is_symlink() for parent in file.parents if parent.is_relative_to(top) and parent != top)
    return not behind and (file.is_symlink() or file.is_file())


async def unhide(git: Git, tree: Tree, entries: Sequence[IndexEntry], index: Path) -> None:
    """Take the marks and the recorded file times off in a private index, so that git compares the content.

    The times of hidden entries cannot be trusted. Git compares times by the second, and it does not check hidden
    entries when it writes the index in a later second than that of an edit.
    """
    anew = b"".join(f"{each.mode} {each.object}\t".encode() + os.fsencode(each.path) + b"\0" for each in entries)
    await tree.run(git, "update-index", "-z", "--index-info", stdin=anew, index=index)
    lines = b"".join(os.fsencode(each.path) + b"\0" for each in entries)
    for mark in ("--no-assume-unchanged", "--no-skip-worktree"):
        await tree.run(git, "update-index", "-z", mark, "--stdin", stdin=lines, index=index)
