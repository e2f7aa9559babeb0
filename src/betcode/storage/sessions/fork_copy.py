"""Copy a session's history into a fork, a slice at a time, so that no other commit waits long.

Until it is complete the fork is marked as deleted: it is invisible, and a daemon that is killed meanwhile leaves
something that the next one takes away like any other half deleted session.
"""

import json

import apsw

from betcode.domain.store.rows import ForkedPart, NewSession, SessionState
from betcode.domain.values.identifiers import Seq, SessionKey
from betcode.storage.sessions.event_rowid import first_place, last_place, place_of
from betcode.storage.sessions.session_deletion import hide
from betcode.storage.sessions.write_queries import append, create_session

_SLICE_ROWS = 2_000
_SLICE_BYTES = 4 * 1024 * 1024
_SLICE_PIECES = 32

_IS_THERE = "SELECT 1 FROM sessions WHERE key = ? AND deleted = 0"
# Events differ in size by a factor of a thousand: a slice is so many of them, but never many more than so many bytes.
_COPY_EVENTS = """
INSERT INTO events (place, kind, data)
SELECT place + :shift, kind, data FROM (
    SELECT place, kind, data, sum(length(data)) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) - length(data) AS before
    FROM (SELECT place, kind, data FROM events WHERE place > :after AND place <= :last ORDER BY place LIMIT :rows))
WHERE before <= :bytes
"""
_UNFINISHED_BLOB = """
SELECT b.key, (SELECT o.key FROM blobs o WHERE o.session = ? AND o.sha256 = b.sha256),
    (SELECT count(*) FROM blob_pieces p WHERE p.blob = b.key)
FROM blobs b WHERE b.session = ? ORDER BY b.key DESC LIMIT 1
"""
_COPY_PIECES = """
INSERT INTO blob_pieces (blob, piece, data)
SELECT ?, piece, data FROM blob_pieces WHERE blob = ? AND piece >= ? ORDER BY piece LIMIT ?
"""
_NEXT_BLOB = """
INSERT INTO blobs (session, sha256, size)
SELECT ?, sha256, size FROM blobs WHERE session = ?
    AND sha256 NOT IN (SELECT sha256 FROM blobs WHERE session = ?) ORDER BY key LIMIT 1
"""
# A message that is sent again is known in the fork too: its agent would pass over it without a word.
_COPY_MESSAGES = """
INSERT INTO inputs (session, input_id, kind, state, run, number, created_ns, content, seq)
SELECT ?, input_id, kind,
    CASE WHEN state IN ('accepted', 'delivered') OR input_id IN (SELECT value FROM json_each(?))
        THEN 'cancelled' ELSE state END,
    NULL, 0, created_ns, content, seq
FROM inputs WHERE session = ? AND kind = 'message' AND seq <= ? ORDER BY key
"""
_NO_PAYLOADS = "INSERT INTO input_payloads (input, payload) SELECT key, x'' FROM inputs WHERE session = ?"


def begin(db: apsw.Connection, new: NewSession, state: SessionState) -> SessionKey:
    """Create a session that is not visible yet."""
    fork = create_session(db, new, state, ())
    hide(db, fork)
    return fork


def copy_slice(db: apsw.Connection, source: SessionKey, fork: SessionKey, until: Seq) -> bool:
    """Copy some rows; whether there may be more. `reveal` detects rows that were deleted meanwhile."""
    shift = first_place(fork) - first_place(source)
    copied = db.execute(
        "SELECT max(place) FROM events WHERE place BETWEEN ? AND ?", (first_place(fork), last_place(fork))
    ).get
    bounds = {
        "shift": shift,
        "after": first_place(source) if copied is None else copied - shift,
        "last": place_of(source, until),
        "rows": _SLICE_ROWS,
        "bytes": _SLICE_BYTES,
    }
    db.execute(_COPY_EVENTS, bounds)
    return bool(db.changes()) or _copy_blobs(db, source, fork)


def reveal(db: apsw.Connection, source: SessionKey, fork: SessionKey, until: Seq, part: ForkedPart) -> bool:
    """All was copied: with its own first events it is a session like any other. False where the source is gone."""
    if db.execute(_IS_THERE, (source,)).fetchone() is None:
        return False
    db.execute("UPDATE sessions SET deleted = 0 WHERE key = ?", (fork,))
    db.execute(_COPY_MESSAGES, (fork, json.dumps(sorted(part.unanswered)), source, until))
    db.execute(_NO_PAYLOADS, (fork,))
    append(db, fork, part.events)
    return True


def _copy_blobs(db: apsw.Connection, source: SessionKey, fork: SessionKey) -> bool:
    newest = db.execute(_UNFINISHED_BLOB, (source, fork)).fetchone()
    if newest is not None:
        own, other, pieces = newest
        db.execute(_COPY_PIECES, (own, other, pieces, _SLICE_PIECES))
        if db.changes():
            return True
    db.execute(_NEXT_BLOB, (fork, source, fork))
    return bool(db.changes())
