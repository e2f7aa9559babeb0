"""Take a snapshot of the session's worktree at the beginning and at the end of each turn.

Snapshots run in parallel with the turn, and nothing waits for them. Requests that arrive while git runs are served
together by the next snapshot, so the end of a turn is also the beginning of a turn that follows at once.
"""

import logging
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from betcode.config.settings import Settings
from betcode.domain.errors import BetcodeError, GitFailed, StorageDegraded, StorageFailed
from betcode.domain.repositories.worktrees import TurnSnapshot, WorktreeId, WorktreeStore
from betcode.domain.sessions.turn_watch import WatchedSession
from betcode.domain.values.identifiers import SessionId, SessionKey
from betcode.git.command import Git
from betcode.git.repository import nearest_top
from betcode.git.snapshots import Ground, PrivateObjects, Snapshot, ground_of, take
from betcode.util.background_loops import run_once
from betcode.util.wall_clock import now_ns
from betcode.worktrees.turns.snapshot_rows import TreeSnapshot, TurnBegan, TurnsEnded, rows_after

logger = logging.getLogger(__name__)

_AT_ONCE = 2  # concurrent reads of worktrees
_FOUND_WITHIN_S = 10.0  # on a disk that answers
_STOP_WITHIN_S = 2.0  # for running reads when the daemon stops; the next daemon takes what is missing


@dataclass(slots=True)
class _SnapshotQueue:
    """The requested snapshots of one session, in order."""

    session: WatchedSession
    wishes: list[TurnBegan | TurnsEnded] = field(default_factory=list)
    under_way: list[TurnBegan | TurnsEnded] = field(default_factory=list)
    is_deleted: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)


class Snapshots:
    """Behind `betcode.domain.sessions.turn_watch.TurnListener`; made by `open_snapshots`."""

    def __init__(
        self,
        store: WorktreeStore,
        git: Git,
        settings: Settings,
        directory: Path,
        tasks: TaskGroup,
        is_on: Callable[[], bool],
    ) -> None:
        self._store = store
        self._git = git
        self._settings = settings
        self._directory = directory
        self._tasks = tasks
        self._is_on = is_on
        self._looking = anyio.CapacityLimiter(_AT_ONCE)
        self._lines: dict[SessionKey, _SnapshotQueue] = {}

    def use(self, settings: Settings) -> None:
        """Go on with other settings."""
        self._settings = settings

    # ------------------------------------------------------------ events of turns

    def began(self, session: WatchedSession, turn: int) -> None:
        """Request a snapshot of the beginning of the turn."""
        if self._settings.worktree.snapshots and self._is_on():
            self._wish(session, TurnBegan(turn))

    def used_tool(self, session: WatchedSession) -> None:
        """Mark a pending snapshot of the turn's beginning as late."""
        line = self._lines.get(session.key)
        if line is not None:
            for wish in (*line.wishes, *line.under_way):
                if isinstance(wish, TurnBegan):
                    wish.used_tool = True

    def ended(self, session: WatchedSession, first: int, last: int, at_ns: int) -> None:
        """Request a snapshot of the end of the turns."""
        if self._settings.worktree.snapshots and self._is_on():
            self._wish(session, TurnsEnded(first, last, at_ns))

    async def deleted(self, session: WatchedSession) -> None:
        """Remove its objects once they have no writer, and then return."""
        line = self._line(session)
        line.is_deleted = True
        line.wishes.clear()
        await line.done.wait()

    def _wish(self, session: WatchedSession, wish: TurnBegan | TurnsEnded) -> None:
        self._line(session).wishes.append(wish)

    def _line(self, session: WatchedSession) -> _SnapshotQueue:
        """Return the queue of the session; one worker empties it."""
        line = self._lines.get(session.key)
        if line is None:
            line = self._lines[session.key] = _SnapshotQueue(session)
            self._tasks.start_soon(run_once, "snapshot", self._work, line)
        return line

    # ------------------------------------------------------------ queries

    def objects_of(self, session: SessionId) -> PrivateObjects:
        return PrivateObjects(self._directory / session)

    async def rows(self, session: SessionKey) -> Sequence[TurnSnapshot]:
        """Return the snapshots in the order of turns, after the pending ones are taken."""
        line = self._lines.get(session)
        if line is not None:
            await line.done.wait()
        return await self._store.snapshots(session)

    async def ground(self, session: WatchedSession) -> Ground | None:
        """The worktree that it works in; None: it works in none.

        Raises:
            GitFailed
        """
        row = await self._store.worktree(WorktreeId(session.worktree_id)) if session.worktree_id else None
        try:
            with anyio.fail_after(_FOUND_WITHIN_S):
                moved_to = session.directory if row is None else row.path
                directory = await anyio.to_thread.run_sync(
                    _in_a_worktree, session.directory, moved_to, abandon_on_cancel=True
                )
        except TimeoutError:
            raise GitFailed(f"{session.directory} does not answer") from None
        return await ground_of(self._git, directory) if directory else None

    async def look(self, ground: Ground, objects: PrivateObjects) -> Snapshot:
        """The tree now.

        Raises:
            GitFailed, StorageDegraded
        """
        async with self._looking:
            return await take(self._git, ground, objects, self._settings.worktree.snapshot_file_limit_bytes)

    @asynccontextmanager
    async def objects_for_now(self) -> AsyncIterator[PrivateObjects]:
        """Create objects that are deleted at the end of the block."""
        objects = PrivateObjects(self._directory / f"now-{now_ns()}")
        try:
            yield objects
        finally:
            with anyio.CancelScope(shield=True):
                await _remove(objects.directory)

    # ------------------------------------------------------------ inside

    async def start(self) -> None:
        """Clean up after an earlier daemon: orphaned objects, and turns without a snapshot of their end."""
        try:
            for session, first, last in await self._store.unnoted_ends():
                self._wish(session, TurnsEnded(first, last, 0))
            known = await self._store.sessions_with_snapshots()
            stale = await anyio.to_thread.run_sync(_stale, self._directory, known)
        except (BetcodeError, OSError) as trouble:
            logger.warning("old snapshots were not checked: %s", trouble)
            return
        if stale:
            logger.info("deleting the snapshots of %d deleted sessions", len(stale))
            self._tasks.start_soon(run_once, "stale snapshots", _remove, *stale)

    async def finish(self) -> None:
        """Wait briefly for running snapshots."""
        with anyio.move_on_after(_STOP_WITHIN_S):
            for line in tuple(self._lines.values()):
                await line.done.wait()

    async def _work(self, line: _SnapshotQueue) -> None:
        try:
            await self._note_wishes(line)
            if line.is_deleted:
                await _remove(self.objects_of(line.session.session_id).directory)
        finally:
            self._lines.pop(line.session.key, None)
            line.done.set()

    async def _note_wishes(self, line: _SnapshotQueue) -> None:
        try:
            while line.wishes:
                async with self._looking:
                    line.under_way, line.wishes = line.wishes, []
                    await self._note(line)
                    line.under_way = []
        except Exception:
            logger.exception("the snapshot failed", extra={"session_id": line.session.session_id})

    async def _note(self, line: _SnapshotQueue) -> None:
        """Take one snapshot for all requests so far."""
        session, began_ns = line.session, now_ns()
        limit_bytes = self._settings.worktree.snapshot_file_limit_bytes
        top, trouble = "", ""
        taken = Snapshot("")
        try:
            ground = await self.ground(session)
            if ground is None:
                trouble = "the directory is not in a git repository"
            else:
                top = ground.top
                taken = await take(self._git, ground, self.objects_of(session.session_id), limit_bytes)
        except (GitFailed, StorageDegraded) as error:
            trouble = error.message
            logger.warning("the snapshot failed: %s", trouble, extra={"session_id": session.session_id})
        rows = {row.turn: row for row in await self._store.snapshots(session.key)}
        if not top and not rows:
            return  # a session in no repository
        look = TreeSnapshot(session.key, began_ns, taken.tree, top, taken.note, trouble)
        for wish in line.under_way:
            for row in rows_after(wish, rows, look):
                rows[row.turn] = row
                try:
                    await self._store.save_snapshot(row)
                except (StorageDegraded, StorageFailed) as error:
                    logger.warning("a snapshot was not stored: %s", error, extra={"session_id": session.session_id})


def _in_a_worktree(directory: str, moved_to: str) -> str:
    """Return where to run git, found from files only, so that a session without a repository costs no process; or
    empty.
    """
    place = directory if Path(directory).is_dir() else moved_to
    return place if nearest_top(place) else ""


def _stale(directory: Path, known: Collection[str]) -> list[Path]:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = list(directory.iterdir())
    for each in found:
        if each.name in known:
            PrivateObjects(each).clear_looks()
    return [each for each in found if each.name not in known]


def _rmtree(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)


async def _remove(*directories: Path) -> None:
    for each in directories:
        await anyio.to_thread.run_sync(_rmtree, each)


@asynccontextmanager
async def open_snapshots(
    store: WorktreeStore, git: Git, settings: Settings, state_dir: Path, is_on: Callable[[], bool]
) -> AsyncIterator[Snapshots]:
    """Serve until the block ends; running snapshots get a moment, and the next daemon does the rest."""
    async with anyio.create_task_group() as tasks:
        snapshots = Snapshots(store, git, settings, state_dir / "snapshots", tasks, is_on)
        await snapshots.start()
        yield snapshots
        await snapshots.finish()
        tasks.cancel_scope.cancel()
