"""The trash of removed worktrees: refs in the repository, and private files in the state directory."""

import json
import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.domain.errors import GitFailed
from betcode.domain.repositories.worktrees import RepositoryId, RepositoryRow, WorktreeRow
from betcode.domain.values.identifiers import is_uuid
from betcode.domain.values.text import valid
from betcode.git.packs import let_go
from betcode.git.private_objects import FSYNC
from betcode.git.private_repository import remove
from betcode.git.status import odd_entries
from betcode.git.tree import Tree
from betcode.util import wall_clock
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.create import untracked_copies
from betcode.worktrees.inspect.contents import Contents
from betcode.worktrees.inspect.submodules import filled_submodules
from betcode.worktrees.remove.keep_commit import KeepCommitBuilder, facts_in
from betcode.worktrees.remove.submodule_store import store_submodules

logger = logging.getLogger(__name__)

_NAMESPACE = "refs/betcode/trash/"
_WHOLE = "%(refname)%00%(objectname)%00%(contents)%00%00"
_PRIVATE = "private.json"
_FILES = "files"


@dataclass(frozen=True, slots=True)
class RemovedWorktree:
    """A worktree that can be restored, from the facts of its commit."""

    repository: RepositoryRow
    id: str
    commit: str
    facts: Mapping[str, object]

    def text(self, name: str) -> str:
        value = self.facts.get(name)
        return valid(value) if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        value = self.facts.get(name)
        return value if isinstance(value, int) and 0 <= value < 2**63 else 0

    @property
    def ref(self) -> str:
        return _NAMESPACE + self.id

    @property
    def removed_ns(self) -> int:
        return self.number("removed_at_ns")


@dataclass(frozen=True, slots=True)
class PrivateFiles:
    """The saved parts of a worktree outside git."""

    repository: str  # the id
    removed_ns: int
    brought_along: Mapping[str, str]
    modes: Mapping[str, int]


class Trash:
    def __init__(self, context: WorktreeContext) -> None:
        self._context = context

    def directory(self, identifier: str) -> Path:
        return self._context.state_dir / "trash" / identifier

    def place_of(self, identifier: str, repository: RepositoryId) -> str:
        """Return the private name under which something removed from a repository is saved. It may block.

        Any repository may have a ref with the id of something that was removed from another, as a copy of that has: the
        saved files of the other are neither given to it nor dropped with it.
        """
        kept = self.privately(identifier)
        return identifier if kept is None or kept.repository == repository else f"{identifier}.{repository}"

    def scratch(self, name: str) -> Path:
        """Return a private empty directory for temporary files."""
        place = self.directory(name) / "work"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True, mode=0o700)
        return place

    @property
    def keep_ns(self) -> int:
        return int(self._context.settings.worktree.trash_keep_s * 1e9)

    async def keep(
        self,
        identifier: str,
        tree: Tree,
        row: WorktreeRow,
        contents: Contents,
        by: str,
        *,
        are_files_gone: bool = False,
    ) -> None:
        """Write the ref, with all that is in the worktree; earlier content under that id is replaced.

        Raises:
            GitFailed, StorageDegraded: it cannot be saved.
        """
        now_ns = wall_clock.now_ns()
        facts: dict[str, object] = {
            "version": 1,
            "worktree": row.id,
            "name": row.name,
            "branch": row.branch,
            "path": row.path,
            "base": row.base,
            "made_branch": row.made_branch,
            "origin": row.origin.value,
            "created_at_ns": row.created_ns,
            "changed": contents.changed_count,
            "untracked": contents.untracked_count,
            "unpushed": contents.unpushed_count,
            "in_progress": contents.in_progress,
            "removed_at_ns": now_ns,
            "by": by[:200],
        }
        try:
            await anyio.to_thread.run_sync(self._keep_privately, identifier, tree, row, now_ns)
            scratch = await anyio.to_thread.run_sync(self.scratch, identifier)
            keeping = KeepCommitBuilder(self._context.git, tree, scratch)
            kept = await keeping.kept(
                facts, row.brought_along, now_ns, _mark(identifier), are_files_gone=are_files_gone
            )
            odd = [] if are_files_gone else await odd_entries(self._context.git, tree)
            filled = await filled_submodules(self._context.git, tree, [each.path for each in odd if each.is_submodule])
            await store_submodules(self._context.git, tree, filled, self.directory(identifier), scratch, now_ns)
            self._context.faults("removal-written")
            await self._context.git.run(
                "update-ref",
                "-m",
                "betcode: a worktree was removed",
                _NAMESPACE + identifier,
                kept.commit,
                at=tree.common_dir,
                variables={"GIT_DIR": tree.common_dir, **FSYNC},
            )
            await anyio.to_thread.run_sync(remove, kept.keep)
            await anyio.to_thread.run_sync(shutil.rmtree, scratch)
        except OSError as trouble:
            raise GitFailed(f"{row.name} cannot be saved, and was not removed: {trouble}") from None

    def _keep_privately(self, identifier: str, tree: Tree, row: WorktreeRow, now_ns: int) -> None:
        place = self.directory(identifier)
        shutil.rmtree(place / _FILES, ignore_errors=True)
        (place / _FILES).mkdir(parents=True, mode=0o700)
        for each in (place.parent, place):
            each.chmod(0o700)
        top = Path(tree.top)
        untracked_copies.store_copies(top, row.brought_along, place / _FILES)
        facts = {
            "repository": row.repository,
            "removed_at_ns": now_ns,
            "brought_along": dict(row.brought_along),
            "modes": untracked_copies.modes_of(top, row.brought_along),
        }
        file = place / _PRIVATE
        file.touch(mode=0o600)
        file.write_text(json.dumps(facts))

    def privately(self, name: str) -> PrivateFiles | None:
        """Return the private files; None if there are none. It may block."""
        try:
            facts = json.loads((self.directory(name) / _PRIVATE).read_text())
            return PrivateFiles(
                str(facts["repository"]), int(facts["removed_at_ns"]), facts["brought_along"], facts["modes"]
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def files_of(self, name: str) -> Path:
        return self.directory(name) / _FILES

    async def removed_from(self, repository: RepositoryRow) -> list[RemovedWorktree]:
        """Return what can be restored, the newest first, with one call of git.

        Raises:
            GitFailed
        """
        try:
            out = await self._refs(repository, _WHOLE, _NAMESPACE)
        except GitFailed:  # one whose commit was deleted must not hide the others
            out = b""
            for name in os.fsdecode(await self._refs(repository, "%(refname)", _NAMESPACE)).splitlines():
                with suppress(GitFailed):
                    out += await self._refs(repository, _WHOLE, name)
        found = []
        for record in os.fsdecode(out).split("\0\0\n"):
            name, _, rest = record.partition("\0")
            commit, _, message = rest.partition("\0")
            identifier = name.removeprefix(_NAMESPACE)
            # The id names a directory, too.
            if message and is_uuid(identifier):
                try:
                    found.append(RemovedWorktree(repository, identifier, commit, facts_in(message)))
                except GitFailed:
                    logger.info("%s was not made by betcode", name)
        return sorted(found, key=lambda each: each.removed_ns, reverse=True)

    async def _refs(self, repository: RepositoryRow, wanted: str, which: str) -> bytes:
        words = ("for-each-ref", f"--format={wanted}", which)
        at = repository.common_dir
        return await self._context.git.run(*words, at=at, variables={"GIT_DIR": at})

    async def drop(self, repository: RepositoryRow, identifier: str, commit: str = "") -> None:
        """Delete the saved state; a ref that was changed meanwhile remains.

        Raises:
            GitFailed
        """
        expected = (commit,) if commit else ()
        where = {"at": repository.common_dir, "variables": {"GIT_DIR": repository.common_dir}}
        await self._context.git.run("update-ref", "-d", _NAMESPACE + identifier, *expected, **where)  # type: ignore[arg-type]
        await anyio.to_thread.run_sync(let_go, f"{repository.common_dir}/objects", _mark(identifier))
        await anyio.to_thread.run_sync(lambda: self.drop_private(self.place_of(identifier, repository.id)))

    def drop_private(self, name: str) -> None:
        shutil.rmtree(self.directory(name), ignore_errors=True)

    def changed_ns(self, identifier: str) -> int:
        """Return when its private directory changed last, if known. It may block."""
        try:
            return self.directory(identifier).lstat().st_mtime_ns
        except OSError:
            return wall_clock.now_ns()

    def private_ids(self) -> Sequence[str]:
        """Return the ids of everything that is saved outside git. It may block."""
        try:
            return sorted(os.listdir(self._context.state_dir / "trash"))  # noqa: PTH208
        except OSError:
            return []


def _mark(identifier: str) -> str:
    return f"betcode: {identifier}\n"
