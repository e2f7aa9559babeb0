"""Diffs of one turn or all turns of a session, and of a worktree against its base."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.to_thread

from betcode.domain.errors import BranchNotFound, GitFailed, InvalidRequest, WorktreeUnusable
from betcode.domain.repositories.worktrees import TurnSnapshot, WorktreeOrigin, WorktreeRow
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.turn_watch import WatchedSession
from betcode.domain.store.rows import SessionRow
from betcode.domain.values.phrases import named, placed
from betcode.git.commits import commit_named
from betcode.git.diffs import between
from betcode.git.names import check_commit_words
from betcode.git.snapshots import Ground, PrivateObjects, ground_of
from betcode.worktrees.catalog.registry import WorktreeRegistry
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.turns.snapshot_rows import each_once
from betcode.worktrees.turns.snapshots import Snapshots

_EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


@dataclass(frozen=True, slots=True)
class TurnDiff:
    note: str  # a notice for the reader
    pieces: AsyncGenerator[bytes, None]  # end anywhere


@dataclass(frozen=True, slots=True)
class _Span:
    """Two trees, and the notices about them."""

    before: str
    after: str
    notes: tuple[str, ...] = ()


class Diffs:
    """A diff that is open while it is read: git writes at the reader's pace."""

    def __init__(self, context: WorktreeContext, registry: WorktreeRegistry, snapshots: Snapshots) -> None:
        self._context = context
        self._registry = registry
        self._snapshots = snapshots

    @asynccontextmanager
    async def of_session(self, session: SessionRow, turn: int, *, counts: bool) -> AsyncIterator[TurnDiff]:
        """Return the changes of a turn; turn 0: everything from the first beginning to the last end.

        Raises:
            InvalidRequest: there is no such turn.
            WorktreeUnusable: it has no snapshot.
            GitFailed, StorageDegraded
        """
        rows = await self._snapshots.rows(session.key)
        if not rows:
            raise WorktreeUnusable(_NOTHING_NOTED)
        objects = self._snapshots.objects_of(session.new.session_id)
        chosen = _chosen(session, rows, turn)
        span = await self._span(session, chosen, objects)
        if not await anyio.to_thread.run_sync(objects.objects.is_dir):
            raise GitFailed("The snapshots of this session's turns were removed")
        pieces = between(self._context.git, objects, span.before, span.after, counts=counts)
        async with aclosing(pieces):
            yield TurnDiff(each_once(*span.notes), pieces)

    async def _span(self, session: SessionRow, rows: Sequence[TurnSnapshot], objects: PrivateObjects) -> _Span:
        notes = [row.note for row in rows]
        first = next((row for row in rows if row.start_tree), None)
        if first is None:
            raise WorktreeUnusable(
                f"There is no snapshot of the beginning, so nothing can be compared: {each_once(*notes)}"
            )
        last = rows[-1]
        is_open = session.state.status is SessionStatus.ACTIVE and last.turn > session.state.turns
        if is_open:
            ground = await self._snapshots.ground(_watched(session))
            if ground is None:
                raise WorktreeUnusable("The turn is open, and its directory is no longer in a git repository")
            now = await self._snapshots.look(ground, objects)
            notes.append(f"turn {last.turn} is open: compared with the tree as it is now")
            return _Span(first.start_tree, now.tree, (*notes, now.note))
        ended = next((row for row in reversed(rows) if row.end_tree), None)
        if ended is None:
            raise WorktreeUnusable(f"There is no snapshot of the end, so nothing can be compared: {each_once(*notes)}")
        return _Span(first.start_tree, ended.end_tree, tuple(notes))

    @asynccontextmanager
    async def of_worktree(self, worktree_id: str, base: str, *, counts: bool) -> AsyncIterator[TurnDiff]:
        """Return what a worktree has that its base has not: commits and uncommitted changes.

        Raises:
            WorktreeNotFound, WorktreeUnusable, InvalidRequest, BranchNotFound, GitFailed, StorageDegraded
        """
        row = await self._registry.find(worktree_id)
        words = check_commit_words(base) if base else ""
        try:
            ground = await ground_of(self._context.git, row.path)
        except GitFailed as trouble:
            raise WorktreeUnusable(f"The worktree {named(row.name)} cannot be read: {trouble.message}") from None
        if ground is None or ground.top != row.path:
            raise WorktreeUnusable(f"The worktree {named(row.name)} is no longer at {placed(row.path)}")
        tree, note = await self._base(row, ground, words)
        async with self._snapshots.objects_for_now() as objects:
            now = await self._snapshots.look(ground, objects)
            pieces = between(self._context.git, objects, tree, now.tree, counts=counts)
            async with aclosing(pieces):
                yield TurnDiff(each_once(note, now.note), pieces)

    async def _base(self, row: WorktreeRow, ground: Ground, words: str) -> tuple[str, str]:
        """The tree that the worktree is compared with, and what that is, for people."""
        if words:
            commit = await commit_named(self._context.git, ground.top, words)
            if not commit:
                raise BranchNotFound(f"{words} is not a branch, tag or commit of this repository")
            return await self._where_they_part(ground, commit, words)
        if row.base and (commit := await commit_named(self._context.git, ground.top, row.base)):
            return await self._where_they_part(ground, commit, f"{commit[:12]}, from which its branch was made")
        head = await commit_named(self._context.git, ground.top, "HEAD")
        if row.origin is not WorktreeOrigin.MAIN:
            main = (await self._registry.repositories.get(row.repository)).path
            branch = (await self._context.git.ask("symbolic-ref", "--short", "-q", "HEAD", at=main)).text.strip()
            commit = await commit_named(self._context.git, main, "HEAD")
            if commit:
                return await self._where_they_part(ground, commit, branch or commit[:12])
        if head:
            return await self._tree(head, ground), "compared with its last commit"
        return _EMPTY_TREE[ground.object_format], "compared with an empty tree: there is no commit yet"

    async def _where_they_part(self, ground: Ground, commit: str, called: str) -> tuple[str, str]:
        """Return the last common commit: later commits of the base are not the worktree's."""
        answer = await self._context.git.ask("merge-base", "--end-of-options", commit, "HEAD", at=ground.top)
        shared = answer.text.strip()
        if answer.code or not shared:
            return await self._tree(commit, ground), f"compared with {called}: they have no commit in common"
        where = "" if shared == commit else f", from their common commit {shared[:12]}"
        return await self._tree(shared, ground), f"compared with {called}{where}"

    async def _tree(self, commit: str, ground: Ground) -> str:
        out = await self._context.git.run(
            "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}", at=ground.top
        )
        return out.decode().strip()


_NOTHING_NOTED = (
    "This session has no snapshots of turns: it does not work in a git repository, had no turn yet, or snapshots are "
    "turned off (worktree.snapshots)"
)


def _watched(session: SessionRow) -> WatchedSession:
    new = session.new
    return WatchedSession(session.key, new.session_id, new.working_directory, new.worktree_id)


def _chosen(session: SessionRow, rows: Sequence[TurnSnapshot], turn: int) -> Sequence[TurnSnapshot]:
    if not turn:
        return rows
    found = [row for row in rows if row.turn == turn]
    if found:
        return found
    newest = session.state.turns + (session.state.status is SessionStatus.ACTIVE)
    if turn > newest:
        raise InvalidRequest(f"There is no turn {turn}: the session has {newest} turn{'' if newest == 1 else 's'}")
    raise InvalidRequest(
        f"Turn {turn} has no snapshot: the first one is of turn {rows[0].turn}, the last of turn {rows[-1].turn}"
    )
