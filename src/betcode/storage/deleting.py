"""Deleting a session a slice at a time, so that no other commit waits long."""

import apsw

from betcode.domain.identifiers import SessionKey
from betcode.storage.places import first_place, last_place

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
    "DELETE FROM sessions WHERE key = ? AND deleted = 1",
)


def mark_deleted(db: apsw.Connection, session: SessionKey) -> None:
    """From here on nobody sees the session; its rows go later."""
    db.execute("UPDATE sessions SET deleted = 1 WHERE key = ?", (session,))


def marked_sessions(db: apsw.Connection) -> list[SessionKey]:
    return [SessionKey(key) for (key,) in db.execute("SELECT key FROM sessions WHERE deleted = 1")]


def delete_slice(db: apsw.Connection, session: SessionKey) -> bool:
    """Take away a little of a marked session; whether more is left."""
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
