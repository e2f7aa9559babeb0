"""What sessions are bound to, as SQL."""

import json
from collections.abc import Sequence
from typing import Any, assert_never

import apsw

from betcode.domain.sessions.binding import Bond, Bound, Unfinished
from betcode.domain.store.changes import SaveBond, SaveMetadata
from betcode.domain.values.identifiers import SessionId, SessionKey

_COLUMNS = """campaign_id, festival_id, task_id, parent, restart_count, started_ns, ended_ns, failure, timeout_ns,
    deadline_ns, stop_by_ns"""
_SAVE = f"""
INSERT OR REPLACE INTO session_bonds (session, {_COLUMNS})
SELECT key, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE key = ? AND deleted = 0
"""
_BOUND = f"""
SELECT s.key, {_COLUMNS},
    (SELECT min(started_ns) FROM runs WHERE session = s.key),
    (SELECT iif(state IN ('crashed', 'backing_off'), exit_note, '') FROM runs WHERE session = s.key
        ORDER BY key DESC LIMIT 1)
FROM sessions s LEFT JOIN session_bonds b ON b.session = s.key WHERE s.deleted = 0
"""
_DUE = f"""
SELECT s.session_id, {_COLUMNS} FROM session_bonds b JOIN sessions s ON s.key = b.session
WHERE (b.deadline_ns > 0 OR b.stop_by_ns > 0) AND s.deleted = 0 AND s.status <> 'closed'
"""


def apply(db: apsw.Connection, change: SaveBond | SaveMetadata) -> None:
    match change:
        case SaveBond(session, bond):
            db.execute(_SAVE, (*_values(bond), session))
        case SaveMetadata(session, metadata):
            text = json.dumps(dict(metadata))
            db.execute("UPDATE session_makings SET metadata = ? WHERE session = ?", (text, session))
        case _:
            assert_never(change)


def bound(db: apsw.Connection, session: SessionKey) -> Bound:
    row = db.execute(f"{_BOUND} AND s.key = ?", (session,)).fetchone()
    return Bound() if row is None else _bound(row)


def all_bound(db: apsw.Connection) -> dict[SessionKey, Bound]:
    return {SessionKey(row[0]): _bound(row) for row in db.execute(_BOUND)}


def unfinished(db: apsw.Connection) -> list[Unfinished]:
    """The open sessions that have a timeout, or that are being stopped."""
    return [Unfinished(SessionId(row[0]), Bond(*row[1:])) for row in db.execute(_DUE)]


def _values(bond: Bond) -> tuple[str | int, ...]:
    return (
        bond.campaign_id,
        bond.festival_id,
        bond.task_id,
        bond.parent,
        bond.restart_count,
        bond.started_ns,
        bond.ended_ns,
        bond.failure,
        bond.timeout_ns,
        bond.deadline_ns,
        bond.stop_by_ns,
    )


def _bound(row: Sequence[Any]) -> Bound:
    _, *columns, first_run_ns, crash_note = row
    bond = Bond() if columns[0] is None else Bond(*columns)
    return Bound(bond, first_run_ns or 0, crash_note or "")
