"""Restores index and files from the commit that `keep_commit` made.

Existing files are never overwritten, so that an interrupted restore can be repeated.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from betcode.domain.errors import GitFailed
from betcode.git.command import Git
from betcode.git.private_objects import PlainRepository
from betcode.git.private_repository import remove
from betcode.git.status import odd_entries
from betcode.git.tree import LONG_S, Tree
from betcode.worktrees.inspect.git_operations import KEPT_DIRECTORIES, KEPT_FILES
from betcode.worktrees.inspect.hidden_changes import is_file_at
from betcode.worktrees.remove.keep_commit import KeepCommitBuilder


@dataclass(frozen=True, slots=True)
class _TreeEntry:
    mode: str
    object: str
    path: str


@dataclass(frozen=True, slots=True)
class _Notes:
    modes: Mapping[str, int]  # permissions that git does not keep
    skipped: frozenset[str]  # files that need not be there, and were


class TreeRestorer:
    """Fills one tree; `scratch` is a private directory."""

    def __init__(self, git: Git, tree: Tree, scratch: Path) -> None:
        self._git = git
        self._tree = tree
        self._scratch = scratch
        self._plain = PlainRepository(git, tree, scratch)

    async def fill(self, commit: str, index: str, rest: str) -> None:
        """Bring index and files back.

        Raises:
            GitFailed, StorageDegraded, OSError
        """
        await self._plain.make()
        await self._put_index(rest)
        changed = await self._changed(f"{index}^{{tree}}", f"{commit}^{{tree}}")
        await self._write_changed([each for each in changed if each.object.strip("0")])
        notes = await self._notes(rest)
        odd = await odd_entries(self._git, self._tree)
        absent = [each.path for each in odd if each.is_skipped and each.path not in notes.skipped]
        await self._write_clean(commit, [*(each.path for each in changed), *absent])
        await anyio.to_thread.run_sync(self._put_modes, notes.modes)
        await self._put_files(rest)
        # The files' state is recorded in the index; the exit code is 1 if one is changed.
        variables = self._tree.variables
        words = ("update-index", "-q", "--refresh")
        await self._git.ask(*words, at=self._tree.top, variables=variables, bound_s=LONG_S)

    async def is_whole(self, commit: str, index: str, leave_out: Sequence[str]) -> bool:
        """Return whether index and files match the commit.

        Raises:
            GitFailed, OSError
        """
        trees = await KeepCommitBuilder(self._git, self._tree, self._scratch / "again").work_tree(leave_out)
        return trees == (await self._tree_of(index), await self._tree_of(commit))

    async def _tree_of(self, commit: str) -> str:
        out = await self._tree.run(self._git, "rev-parse", "--verify", f"{commit}^{{tree}}")
        return out.decode().strip()

    async def _changed(self, index: str, work: str) -> list[_TreeEntry]:
        out = await self._tree.run(
            self._git, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", index, work
        )
        words = os.fsdecode(out).split("\0")
        found = []
        for facts, path in zip(words[0::2], words[1::2], strict=False):
            _, mode, _, name, _ = facts.split(" ")
            found.append(_TreeEntry(mode, name, path))
        return found

    async def _write_changed(self, entries: Sequence[_TreeEntry]) -> None:
        """As their bytes, before anything else: .gitattributes may be among them."""
        missing = await anyio.to_thread.run_sync(self._missing, entries)
        await anyio.to_thread.run_sync(remove, self._plain.index("changed"))
        if missing:
            await self._plain.put_in([(each.mode, each.object, each.path) for each in missing], index="changed")
            await self._plain.run("checkout-index", "-q", "-a", index="changed")

    def _missing(self, entries: Sequence[_TreeEntry]) -> list[_TreeEntry]:
        top = Path(self._tree.top)
        return [each for each in entries if not os.path.lexists(top / each.path)]

    async def _write_clean(self, commit: str, leave_out: Sequence[str]) -> None:
        """Check out files that were as in the index, as git always does."""
        index = self._plain.index("clean")
        await anyio.to_thread.run_sync(remove, index)
        await self._tree.run(self._git, "read-tree", commit, index=index)
        lines = b"".join(b"0 " + self._plain.nothing + b"\t" + os.fsencode(path) + b"\0" for path in leave_out)
        if lines:
            await self._tree.run(self._git, "update-index", "-z", "--index-info", index=index, stdin=lines)
        # Existing files are reported and unchanged; whether all are there is checked at the end.
        variables = {**self._tree.variables, "GIT_INDEX_FILE": str(index)}
        await self._git.ask("checkout-index", "-q", "-a", at=self._tree.top, variables=variables, bound_s=LONG_S)

    async def _names(self, rest: str) -> dict[str, str]:
        out = await self._tree.run(self._git, "ls-tree", "-r", "-z", rest)
        found = {}
        for record in os.fsdecode(out).split("\0"):
            facts, _, path = record.partition("\t")
            if path:
                found[path] = facts.split(" ")[2]
        return found

    async def _put_index(self, rest: str) -> None:
        name = (await self._names(rest)).get("index")
        own = Path(self._tree.git_dir) / "index"
        if name is None:
            await anyio.to_thread.run_sync(remove, own)
        else:
            await self._write_blob(name, own)

    async def _notes(self, rest: str) -> _Notes:
        name = (await self._names(rest)).get("notes")
        return _notes_in(await self._tree.run(self._git, "cat-file", "blob", name)) if name else _Notes({}, frozenset())

    def _put_modes(self, modes: Mapping[str, int]) -> None:
        top = Path(self._tree.top)
        for path, mode in modes.items():
            if is_file_at(top, path) and not (top / path).is_symlink():
                (top / path).chmod(mode & 0o777)

    async def _put_files(self, rest: str) -> None:
        for path, name in (await self._names(rest)).items():
            kind, _, file = path.partition("/")
            known = file in KEPT_FILES or file.split("/")[0] in KEPT_DIRECTORIES
            if kind == "files" and known and ".." not in Path(file).parts:
                await self._write_blob(name, Path(self._tree.git_dir) / file)

    async def _write_blob(self, name: str, to: Path) -> None:
        await anyio.to_thread.run_sync(lambda: to.parent.mkdir(parents=True, exist_ok=True))
        partial = to.with_name(f"{to.name}.betcode")
        variables = self._tree.variables
        async with await anyio.open_file(partial, "wb") as file:
            words = ("cat-file", "blob", name)
            async with aclosing(self._git.stream(*words, at=self._tree.top, variables=variables)) as pieces:
                async for piece in pieces:
                    await file.write(piece)
        await anyio.to_thread.run_sync(partial.replace, to)


def _notes_in(data: bytes) -> _Notes:
    """Raises GitFailed: they are none of ours."""
    try:
        facts = json.loads(data)
        modes = {str(path): int(mode) for path, mode in facts["modes"].items()}
        return _Notes(modes, frozenset(map(str, facts["skipped"])))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise GitFailed("The list of files was not written by betcode") from None
