"""Rows of connected clients and lock holders: valid while a daemon runs, deleted when the next one starts."""

from typing import assert_never

import apsw

from betcode.domain.store.changes import ForgetClients, SaveClients

# Only of a session that is there: a client may still leave one that was deleted.
_INSERT = """
INSERT INTO connected_clients (session, client_id, client_type, connected_ns)
SELECT key, ?, ?, ? FROM sessions WHERE key = ? AND deleted = 0
"""
_COUNTS = """
SELECT (SELECT count(*) FROM connected_clients),
    (SELECT count(*) FROM sessions WHERE input_lock_client IS NOT NULL AND deleted = 0)
"""


def apply(db: apsw.Connection, change: SaveClients | ForgetClients) -> None:
    match change:
        case SaveClients():
            _save(db, change)
        case ForgetClients():
            _forget(db)
        case _:
            assert_never(change)


def _save(db: apsw.Connection, change: SaveClients) -> None:
    """Bring the rows of one session up to date."""
    delete = "DELETE FROM connected_clients WHERE session = ? AND client_id = ?"
    db.executemany(delete, [(change.session, client_id) for client_id in change.went])
    db.executemany(
        _INSERT, [(each.client_id, each.client_type, each.connected_ns, change.session) for each in change.came]
    )
    held = "UPDATE sessions SET input_lock_client = ?1 WHERE key = ?2 AND input_lock_client IS NOT ?1"
    db.execute(held, (change.input_lock_client or None, change.session))


def _forget(db: apsw.Connection) -> None:
    """Nobody is connected to a daemon that has just started."""
    db.execute("DELETE FROM connected_clients")
    db.execute("UPDATE sessions SET input_lock_client = NULL WHERE input_lock_client IS NOT NULL")


def counts(db: apsw.Connection) -> tuple[int, int]:
    """How many clients are connected and how many input locks are held, as the rows say."""
    row: tuple[int, int] | None = db.execute(_COUNTS).fetchone()
    assert row is not None
    return row
