"""Saves a working tree as one commit: HEAD, index and every file, so that all of it can be restored.

    tree        the working tree with committed, changed and untracked files, without ignored ones
    parents     HEAD (if there is one), the index as a commit, and a commit of everything else

The user's index is never touched. Files are stored as raw bytes: no filter runs. The third commit contains the index
file itself (intent-to-add entries, conflicts and marks), the sides of conflicts, and the files of an unfinished git
operation.
"""

import json
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from betcode.domain.errors import GitFailed
from betcode.git.command import Git
from betcode.git.packs import hand_over
from betcode.git.private_objects import PlainRepository
from betcode.git.private_repository import remove
from betcode.git.status import Changed, Head, IndexEntry, changes, odd_entries
from betcode.git.tree import LONG_S, Tree
from betcode.worktrees.inspect.git_operations import kept_files
from betcode.worktrees.inspect.hidden_changes import is_file_at, to_look_at, unhide

_PLAIN_MODES = frozenset({0o644, 0o755, 0o664, 0o775})


@dataclass(frozen=True, slots=True)
class TreeChanges:
    """All that is changed in a tree, without bounds."""

    head: Head
    changed: tuple[Changed, ...]
    odd: tuple[IndexEntry, ...]

    @property
    def deleted(self) -> list[str]:
        return [each.path for each in self.changed if not each.is_present]

    @property
    def present(self) -> list[str]:
        return [each.path for each in self.changed if each.is_present and each.differs_from_index]


async def tree_changes(git: Git, tree: Tree, leave_out: Collection[str]) -> TreeChanges:
    """Return all changes, except untracked files that are to be omitted.

    Raises:
        GitFailed
    """
    head = Head("", "")
    changed = []
    async with aclosing(changes(git, tree)) as found:
        async for each in found:
            if isinstance(each, Head):
                head = each
            elif not each.is_untracked or each.path not in leave_out:
                changed.append(each)
    return TreeChanges(head, tuple(changed), tuple(await odd_entries(git, tree)))


@dataclass(frozen=True, slots=True)
class KeepCommit:
    """The commits that everything is in."""

    commit: str
    index: str
    rest: str
    keep: Path  # to be deleted when a ref leads to the commit


class KeepCommitBuilder:
    """Creates the objects for one tree; `scratch` is a private directory."""

    def __init__(self, git: Git, tree: Tree, scratch: Path) -> None:
        self._git = git
        self._tree = tree
        self._plain = PlainRepository(git, tree, scratch)

    async def kept(
        self,
        facts: Mapping[str, object],
        leave_out: Collection[str],
        now_ns: int,
        mark: str,
        *,
        are_files_gone: bool = False,
    ) -> KeepCommit:
        """Return the commits of everything; no ref points to them yet. For missing files, the index is used.

        Raises:
            GitFailed, StorageDegraded, OSError
        """
        whole = await self._prepared(leave_out)
        index = await self._index_tree(whole)
        work = index if are_files_gone else await self._work_tree(whole)
        rest = await self._rest(whole)
        head = [whole.head.commit] if whole.head.commit else []
        index_commit = await self._commit(index, head, "betcode: the index", now_ns)
        rest_commit = await self._commit(rest, head, "betcode: what is in neither", now_ns)
        written = {**facts, "head": whole.head.commit, "head_branch": whole.head.branch}
        written |= {"index": index_commit, "rest": rest_commit}
        message = f"betcode: a worktree as it was\n\n{json.dumps(written)}\n"
        commit = await self._commit(work, [*head, index_commit, rest_commit], message, now_ns)
        await self._verify(commit, head)
        keep = await hand_over(self._git, self._tree, self._plain, commit, head, mark)
        return KeepCommit(commit, index_commit, rest_commit, keep)

    async def work_tree(self, leave_out: Collection[str]) -> tuple[str, str]:
        """Return the names of the trees of the index and of the files; the files are not saved."""
        whole = await self._prepared(leave_out)
        return await self._index_tree(whole), await self._work_tree(whole, names_only=True)

    async def _prepared(self, leave_out: Collection[str]) -> TreeChanges:
        await self._plain.make()
        whole = await tree_changes(self._git, self._tree, leave_out)
        if await anyio.to_thread.run_sync(self._copy_index):
            # A split index refers to another file.
            await self._tree.run(self._git, "update-index", "--no-split-index", index=self._plain.index("whole"))
        return whole

    def _copy_index(self) -> bool:
        """Copy the index; return whether there is one."""
        whole = self._plain.index("whole")
        remove(whole)
        self._tree.copy_index(whole)
        return whole.exists()

    async def _copied(self, name: str) -> str:
        def copy() -> None:
            with suppress(FileNotFoundError):  # there may be no index
                shutil.copy2(self._plain.index("whole"), self._plain.index(name))

        await anyio.to_thread.run_sync(copy)
        return name

    async def _index_tree(self, whole: TreeChanges) -> str:
        name = await self._copied("staged")
        await self._plain.drop(sorted({each.path for each in whole.odd if each.stage}), index=name)
        return await self._plain.written(index=name)

    async def _work_tree(self, whole: TreeChanges, *, names_only: bool = False) -> str:
        name = await self._copied("work")
        hidden = [each for each in whole.odd if each.is_hidden]
        looked_at = await anyio.to_thread.run_sync(to_look_at, self._tree, hidden)
        if looked_at:
            await unhide(self._git, self._tree, looked_at, self._plain.index(name))
        top = Path(self._tree.top)
        paths = [each.path for each in looked_at]
        gone = await anyio.to_thread.run_sync(lambda: {path for path in paths if not is_file_at(top, path)})
        await self._plain.drop([*whole.deleted, *gone], index=name)
        present = [*whole.present, *(path for path in paths if path not in gone)]
        await self._plain.take_in(present, index=name, names_only=names_only)
        return await self._plain.written(index=name)

    async def _rest(self, whole: TreeChanges) -> str:
        name = "rest"
        await anyio.to_thread.run_sync(remove, self._plain.index(name))
        entries = [
            ("100644", each.object, f"sides/{each.object}")
            for each in whole.odd
            if each.stage and not each.is_submodule
        ]
        own = await anyio.to_thread.run_sync(_read, self._plain.index("whole"))
        if own is not None:
            entries.append(("100644", await self._plain.blob(own), "index"))
        files = await anyio.to_thread.run_sync(kept_files, Path(self._tree.git_dir))
        for path, data in files.items():
            entries.append(("100644", await self._plain.blob(data), f"files/{path}"))
        notes = await anyio.to_thread.run_sync(self._notes, whole)
        entries.append(("100644", await self._plain.blob(json.dumps(notes).encode()), "notes"))
        await self._plain.put_in(dict.fromkeys(entries), index=name)
        return await self._plain.written(index=name)

    def _notes(self, whole: TreeChanges) -> dict[str, object]:
        top = Path(self._tree.top)
        skipped = [each.path for each in whole.odd if each.is_skipped and is_file_at(top, each.path)]
        return {"modes": _odd_modes(top, whole.present), "skipped": skipped}

    async def _commit(self, tree: str, parents: Sequence[str], message: str, now_ns: int) -> str:
        words = [word for parent in parents for word in ("-p", parent)]
        when = f"{now_ns // 10**9} +0000"
        who = {"NAME": "betcode", "EMAIL": "betcode@localhost", "DATE": when}
        variables = {f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in who.items()}
        out = await self._git.run(
            "commit-tree",
            *words,
            tree,
            at=self._tree.top,
            stdin=os.fsencode(message),
            variables={**self._tree.variables, **self._plain.objects, **variables},
        )
        return out.decode().strip()

    async def _verify(self, commit: str, known: Sequence[str]) -> None:
        """Raises GitFailed where an object that it needs is not there."""
        words = ("rev-list", "--objects", "--quiet", "--missing=allow-promisor", commit, "--not", *known)
        variables = {**self._tree.variables, **self._plain.objects}
        await self._git.run(*words, at=self._tree.top, variables=variables, bound_s=LONG_S)


def _odd_modes(top: Path, paths: Sequence[str]) -> dict[str, int]:
    """Permissions that git does not keep."""
    found = {}
    for path in paths:
        try:
            mode = (top / path).lstat().st_mode
        except OSError:
            continue
        if mode & 0o170000 == 0o100000 and mode & 0o777 not in _PLAIN_MODES:
            found[path] = mode & 0o777
    return found


def facts_in(message: str) -> dict[str, object]:
    """Return the facts in a commit's message.

    Raises:
        GitFailed: it is none of ours.
    """
    try:
        facts = json.loads(message.partition("\n\n")[2] or message)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise GitFailed("A commit below refs/betcode/trash was not made by betcode")
    return facts


def _read(path: Path) -> bytes | None:
    """Return the content; None if there is no such file. It may block."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
