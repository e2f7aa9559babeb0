"""Delete a session a slice at a time, so that no other commit waits long.

The row in `sessions` stays, marked as deleted, until everything else of the session is erased: rows, files and the
words in the search index. A daemon that is killed in between finds the mark at its next start and continues.
"""

import apsw

from betcode.domain.sessions.deletion import DeletedSession
from betcode.domain.values.identifiers import RunId, SessionId, SessionKey
from betcode.storage.sessions.event_rowid import first_place, last_place

_SLICE_ROWS = 2_000
_SLICE_BYTES = 4 * 1024 * 1024

# Events differ in size by a factor of a thousand: a slice is so many of them, but never more than so many bytes.
_END_OF_SLICE = """
SELECT coalesce(max(place) FILTER (WHERE total <= :bytes), min(place)) FROM (
    SELECT place, sum(size) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS total FROM (
        SELECT place, length(data) AS size FROM events WHERE place BETWEEN :first AND :last ORDER BY place LIMIT :rows))
"""

# Children before parents. The large ones go few at a time.
_REST = (
    """DELETE FROM blob_pieces WHERE rowid IN (
        SELECT p.rowid FROM blobs b JOIN blob_pieces p ON p.blob = b.key WHERE b.session = ? LIMIT 32)""",
    """DELETE FROM input_payloads WHERE input IN (
        SELECT p.input FROM inputs i JOIN input_payloads p ON p.input = i.key WHERE i.session = ? LIMIT 32)""",
    """DELETE FROM pending_permissions WHERE rowid IN (
        SELECT rowid FROM pending_permissions WHERE session_id = ? LIMIT 64)""",
    "DELETE FROM inputs WHERE key IN (SELECT key FROM inputs WHERE session = ? LIMIT 2000)",
    "DELETE FROM blobs WHERE key IN (SELECT key FROM blobs WHERE session = ? LIMIT 2000)",
    "DELETE FROM runs WHERE key IN (SELECT key FROM runs WHERE session = ? LIMIT 2000)",
    "DELETE FROM permission_grants WHERE key IN (SELECT key FROM permission_grants WHERE session = ? LIMIT 2000)",
    "DELETE FROM turn_snapshots WHERE session = ?",
    "DELETE FROM connected_clients WHERE session = ?",
    "DELETE FROM session_bonds WHERE session = ?",
    "DELETE FROM session_makings WHERE session = ?",
    """DELETE FROM agent_activities WHERE key IN (
        SELECT key FROM agent_activities WHERE session_id = (SELECT session_id FROM sessions WHERE key = ?)
        LIMIT 2000)""",
)
_MARK = "UPDATE sessions SET deleted = 1, name = '', preview = '' WHERE key = ?"
_ALL = SessionKey(0)
_MARKED = """
SELECT s.key, s.session_id, r.run_id FROM sessions s LEFT JOIN runs r ON r.session = s.key
WHERE s.deleted = 1 AND ? IN (0, s.key) ORDER BY s.key, r.key
"""


def hide(db: apsw.Connection, session: SessionKey) -> None:
    """Hide an unfinished session from every reader; a daemon that is killed meanwhile leaves it to be erased."""
    db.execute("UPDATE sessions SET deleted = 1 WHERE key = ?", (session,))


def mark_deleted(db: apsw.Connection, session: SessionKey) -> None:
    """Hide the session from every reader; `delete_slice` and `delete_mark` erase it."""
    db.execute(_MARK, (session,))


def marked_sessions(db: apsw.Connection, only: SessionKey = _ALL) -> list[DeletedSession]:
    """The sessions whose deletion has begun and has not ended, or only one of them."""
    runs: dict[tuple[SessionKey, SessionId], list[RunId]] = {}
    for key, session_id, run_id in db.execute(_MARKED, (only,)):
        found = runs.setdefault((SessionKey(key), SessionId(session_id)), [])
        if run_id is not None:
            found.append(RunId(run_id))
    return [DeletedSession(key, session_id, tuple(found)) for (key, session_id), found in runs.items()]


def delete_mark(db: apsw.Connection, session: SessionKey) -> None:
    """Delete the last row of a session that has no other rows."""
    db.execute("DELETE FROM sessions WHERE key = ? AND deleted = 1", (session,))


def delete_slice(db: apsw.Connection, session: SessionKey) -> bool:
    """Delete some rows of a marked session; whether there are more."""
    first = first_place(session)
    bounds = {"first": first, "last": last_place(session), "rows": _SLICE_ROWS, "bytes": _SLICE_BYTES}
    end = db.execute(_END_OF_SLICE, bounds).get
    if end is not None:
        db.execute("DELETE FROM events WHERE place BETWEEN ? AND ?", (first, end))
        return True
    for statement in _REST:
        db.execute(statement, (session,))
        if db.changes():
            return True
    return False
