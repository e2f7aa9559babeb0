"""Repositories, worktrees and snapshots of turns in the database."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import apsw

from betcode.domain.errors import WorktreeExists
from betcode.domain.repositories.worktrees import (
    RepositoryId,
    RepositoryRow,
    SetupState,
    TurnSnapshot,
    WorktreeId,
    WorktreeOrigin,
    WorktreeRow,
    WorktreeSessions,
    WorktreeState,
)
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.turn_watch import WatchedSession
from betcode.domain.values.identifiers import SessionId, SessionKey
from betcode.storage.sqlite.access import DatabaseAccess

T = TypeVar("T")

_REPOSITORIES = """
SELECT id, common_dir, path, is_bare, created_ns, last_used_ns, active_worktree, mark FROM repositories
ORDER BY id
"""
_SAVE_REPOSITORY = """
INSERT INTO repositories (id, common_dir, path, is_bare, created_ns, last_used_ns, active_worktree, mark)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET common_dir = excluded.common_dir, path = excluded.path, is_bare = excluded.is_bare,
    last_used_ns = excluded.last_used_ns, active_worktree = excluded.active_worktree,
    mark = excluded.mark
"""
_WORKTREE_COLUMNS = """id, repository, name, path, branch, origin, state, created_ns, last_used_ns, base, git_dir,
    git_mark, made_branch, setup, setup_note, setup_process, brought_along, trouble, removal"""
_WORKTREES = f"SELECT {_WORKTREE_COLUMNS} FROM worktrees"
_SAVE_WORKTREE = f"""
INSERT INTO worktrees ({_WORKTREE_COLUMNS}) VALUES ({", ".join("?" * 19)})
ON CONFLICT (id) DO UPDATE SET name = excluded.name, path = excluded.path, branch = excluded.branch,
    origin = excluded.origin, state = excluded.state, last_used_ns = excluded.last_used_ns, base = excluded.base,
    git_dir = excluded.git_dir, git_mark = excluded.git_mark, made_branch = excluded.made_branch,
    setup = excluded.setup, setup_note = excluded.setup_note, setup_process = excluded.setup_process,
    brought_along = excluded.brought_along, trouble = excluded.trouble, removal = excluded.removal
"""
# One pass over the sessions of the worktrees that are asked for; the newest change comes last and wins.
_SESSIONS_OF = """
SELECT worktree_id, session_id, status, updated_ns FROM sessions
WHERE deleted = 0 AND worktree_id <> '' AND worktree_id IN (SELECT value FROM json_each(?)) ORDER BY updated_ns, key
"""
_OPEN_SESSIONS = """
SELECT session_id FROM sessions
WHERE deleted = 0 AND worktree_id <> '' AND worktree_id = ? AND status <> 'closed' ORDER BY key
"""
_SNAPSHOT = "SELECT session, turn, top, start_tree, end_tree, started_ns, ended_ns, note FROM turn_snapshots"
# Only of a session that is there: it may have been deleted while git worked.
_SAVE_SNAPSHOT = """
INSERT INTO turn_snapshots (session, turn, top, start_tree, end_tree, started_ns, ended_ns, note)
SELECT key, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE key = ? AND deleted = 0
ON CONFLICT (session, turn) DO UPDATE SET top = excluded.top, start_tree = excluded.start_tree,
    end_tree = excluded.end_tree, started_ns = excluded.started_ns, ended_ns = excluded.ended_ns, note = excluded.note
"""
_UNENDED = """
SELECT s.key, s.session_id, s.working_directory, s.worktree_id, t.turn, t.turn
FROM turn_snapshots t JOIN sessions s ON s.key = t.session
WHERE t.ended_ns = 0 AND t.turn <= s.turns AND s.deleted = 0
UNION ALL
SELECT s.key, s.session_id, s.working_directory, s.worktree_id, max(t.turn) + 1, s.turns
FROM turn_snapshots t JOIN sessions s ON s.key = t.session
WHERE s.deleted = 0 GROUP BY t.session HAVING max(t.turn) < s.turns
ORDER BY 1, 5
"""
_WITH_SNAPSHOTS = """
SELECT session_id FROM sessions WHERE deleted = 0 AND key IN (SELECT session FROM turn_snapshots)
"""


class SqliteWorktrees:
    """Behind `betcode.domain.repositories.worktrees.WorktreeStore`; a part of the store, with its threads."""

    def __init__(self, database: DatabaseAccess) -> None:
        self._read = database.read
        self._write = database.write

    async def repositories(self) -> Sequence[RepositoryRow]:
        return await self._read(lambda db: [_repository_row(row) for row in db.execute(_REPOSITORIES)])

    async def save_repository(self, row: RepositoryRow) -> None:
        values = (
            row.id,
            row.common_dir,
            row.path,
            row.is_bare,
            row.created_ns,
            row.last_used_ns,
            row.active_worktree,
            row.mark,
        )
        await self._write(lambda db: db.execute(_SAVE_REPOSITORY, values))

    async def forget_repository(self, repository: RepositoryId) -> None:
        await self._write(lambda db: db.execute("DELETE FROM repositories WHERE id = ?", (repository,)))

    async def set_active(self, repository: RepositoryId, worktree: WorktreeId, now_ns: int) -> str:
        """The id of the one that was active before; empty: none was, or it is not known any more."""
        return await self._write(lambda db: _set_active(db, repository, worktree, now_ns))

    async def worktrees(self, repository: RepositoryId | None = None) -> Sequence[WorktreeRow]:
        if repository is None:
            return await self._read(lambda db: [_worktree_row(row) for row in db.execute(f"{_WORKTREES} ORDER BY id")])
        wanted = f"{_WORKTREES} WHERE repository = ? ORDER BY id"
        return await self._read(lambda db: [_worktree_row(row) for row in db.execute(wanted, (repository,))])

    async def worktree(self, worktree: WorktreeId) -> WorktreeRow | None:
        row = await self._read(lambda db: db.execute(f"{_WORKTREES} WHERE id = ?", (worktree,)).fetchone())
        return None if row is None else _worktree_row(row)

    async def names(self, worktrees: Collection[str]) -> Mapping[str, str]:
        """Their names by their ids; unknown ids are omitted."""
        wanted = "SELECT id, name FROM worktrees WHERE id IN (SELECT value FROM json_each(?))"
        return await self._read(lambda db: dict(db.execute(wanted, (json.dumps(list(worktrees)),))))

    async def save_worktrees(self, rows: Sequence[WorktreeRow]) -> None:
        """All of them, or none; a row that is there already is replaced.

        Raises:
            WorktreeExists: another one has the name, in its repository, or the path.
        """
        await self._write(lambda db: _save_worktrees(db, rows))

    async def save_seen(self, rows: Sequence[WorktreeRow]) -> Sequence[str]:
        """Likewise, of what git lists: another repository's row at such a path is stale from now on.

        Those paths are returned.
        """
        return await self._write(lambda db: _save_seen(db, rows))

    async def forget_worktree(self, worktree: WorktreeId) -> None:
        await self._write(lambda db: db.execute("DELETE FROM worktrees WHERE id = ?", (worktree,)))

    async def keep_output(self, worktree: WorktreeId, output: bytes) -> None:
        """Replace the stored output of its setup."""
        keep = """INSERT INTO setup_outputs (worktree, output) SELECT id, ?2 FROM worktrees WHERE id = ?1
            ON CONFLICT (worktree) DO UPDATE SET output = excluded.output"""
        await self._write(lambda db: db.execute(keep, (worktree, output)))

    async def output(self, worktree: WorktreeId) -> bytes:
        kept = "SELECT output FROM setup_outputs WHERE worktree = ?"
        return await self._read(lambda db: db.execute(kept, (worktree,)).get or b"")

    async def sessions_of(self, worktrees: Sequence[WorktreeId]) -> Mapping[WorktreeId, WorktreeSessions]:
        """Of each that has any; one question for all of them."""
        return await self._read(lambda db: _sessions_of(db, worktrees))

    async def open_sessions(self, worktree: WorktreeId) -> Sequence[SessionId]:
        return await self._read(lambda db: [SessionId(text) for (text,) in db.execute(_OPEN_SESSIONS, (worktree,))])

    async def save_snapshot(self, row: TurnSnapshot) -> None:
        """Save a snapshot, unless the session was deleted meanwhile."""
        values = (row.turn, row.top, row.start_tree, row.end_tree, row.started_ns, row.ended_ns, row.note, row.session)
        await self._write(lambda db: db.execute(_SAVE_SNAPSHOT, values))

    async def snapshots(self, session: SessionKey) -> Sequence[TurnSnapshot]:
        """In the order of turns."""
        wanted = f"{_SNAPSHOT} WHERE session = ? ORDER BY turn"
        return await self._read(lambda db: [_snapshot_row(row) for row in db.execute(wanted, (session,))])

    async def unnoted_ends(self) -> Sequence[tuple[WatchedSession, int, int]]:
        """Sessions with turns whose end was not recorded, with the first and the last of these turns."""
        return await self._read(lambda db: [_unended(row) for row in db.execute(_UNENDED)])

    async def sessions_with_snapshots(self) -> frozenset[SessionId]:
        return await self._read(lambda db: frozenset(SessionId(text) for (text,) in db.execute(_WITH_SNAPSHOTS)))


def _set_active(db: apsw.Connection, repository: RepositoryId, worktree: WorktreeId, now_ns: int) -> str:
    before = """SELECT active_worktree FROM repositories
        WHERE id = ? AND active_worktree IN (SELECT id FROM worktrees)"""
    previous: str | None = db.execute(before, (repository,)).get
    change = "UPDATE repositories SET active_worktree = ?, last_used_ns = ? WHERE id = ?"
    db.execute(change, (worktree, now_ns, repository))
    db.execute("UPDATE worktrees SET last_used_ns = ? WHERE id = ?", (now_ns, worktree))
    return previous or ""


def _save_worktrees(db: apsw.Connection, rows: Sequence[WorktreeRow]) -> None:
    for row in rows:  # of two that changed places neither is in the other's way
        db.execute("UPDATE worktrees SET path = 'moving ' || id WHERE id = ? AND path <> ?", (row.id, row.path))
    for row in sorted(rows, key=lambda row: row.state is not WorktreeState.STALE):  # where one is gone another may be
        try:
            db.execute(_SAVE_WORKTREE, _worktree_values(row))
        except apsw.ConstraintError:
            raise WorktreeExists(_taken(db, row)) from None


def _save_seen(db: apsw.Connection, rows: Sequence[WorktreeRow]) -> list[str]:
    displace = """UPDATE worktrees SET state = 'stale' WHERE path = ? AND repository <> ? AND state <> 'stale'
        RETURNING path"""
    there = [row for row in rows if row.state is not WorktreeState.STALE]
    displaced = [path for row in there for (path,) in db.execute(displace, (row.path, row.repository))]
    _save_worktrees(db, rows)
    return displaced


def _taken(db: apsw.Connection, row: WorktreeRow) -> str:
    other = "SELECT name FROM worktrees WHERE path = ? AND id <> ? AND state <> 'stale'"
    name: str | None = db.execute(other, (row.path, row.id)).get
    if name is not None:
        return f"The worktree {name} is at {row.path} already: give another path, or remove that one"
    return f"Another worktree of this repository has the name {row.name}: give another name, or remove that one"


def _sessions_of(db: apsw.Connection, worktrees: Sequence[WorktreeId]) -> dict[WorktreeId, WorktreeSessions]:
    found: dict[WorktreeId, WorktreeSessions] = {}
    at_work: set[str] = set()
    for worktree, session, status, updated_ns in db.execute(_SESSIONS_OF, (json.dumps(worktrees),)):
        before = found.get(worktree, WorktreeSessions())
        is_open = status != SessionStatus.CLOSED
        is_at_work = status == SessionStatus.ACTIVE
        leads = is_open and (is_at_work or before.active not in at_work)
        if is_at_work:
            at_work.add(session)
        active = session if leads else before.active
        found[worktree] = WorktreeSessions(
            active, before.open_count + is_open, before.at_work_count + is_at_work, session, updated_ns
        )
    return found


def _repository_row(row: Sequence[Any]) -> RepositoryRow:
    identifier, common_dir, path, is_bare, created_ns, last_used_ns, active, mark = row
    return RepositoryRow(
        RepositoryId(identifier), common_dir, path, bool(is_bare), created_ns, last_used_ns, active, mark
    )


def _worktree_values(row: WorktreeRow) -> tuple[str | int, ...]:
    return (
        row.id,
        row.repository,
        row.name,
        row.path,
        row.branch,
        row.origin,
        row.state,
        row.created_ns,
        row.last_used_ns,
        row.base,
        row.git_dir,
        row.git_mark,
        row.made_branch,
        row.setup,
        row.setup_note,
        row.setup_process,
        json.dumps(dict(row.brought_along)),
        row.trouble,
        row.removal,
    )


def _worktree_row(row: Sequence[Any]) -> WorktreeRow:
    identifier, repository, name, path, branch, origin, state, created_ns, last_used_ns = row[:9]
    base, git_dir, git_mark, made_branch, setup, setup_note, setup_process, brought_along, trouble, removal = row[9:]
    return WorktreeRow(
        id=WorktreeId(identifier),
        repository=RepositoryId(repository),
        name=name,
        path=path,
        branch=branch,
        origin=WorktreeOrigin(origin),
        state=WorktreeState(state),
        created_ns=created_ns,
        last_used_ns=last_used_ns,
        base=base,
        git_dir=git_dir,
        git_mark=git_mark,
        made_branch=bool(made_branch),
        setup=SetupState(setup),
        setup_note=setup_note,
        setup_process=setup_process,
        brought_along=json.loads(brought_along),
        trouble=trouble,
        removal=removal,
    )


def _unended(row: Sequence[Any]) -> tuple[WatchedSession, int, int]:
    key, session_id, directory, worktree_id, first, last = row
    return WatchedSession(SessionKey(key), SessionId(session_id), directory, worktree_id), first, last


def _snapshot_row(row: Sequence[Any]) -> TurnSnapshot:
    session, turn, top, start_tree, end_tree, started_ns, ended_ns, note = row
    return TurnSnapshot(SessionKey(session), turn, top, start_tree, end_tree, started_ns, ended_ns, note)
