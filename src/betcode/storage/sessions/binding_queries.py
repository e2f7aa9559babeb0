"""SQL of session bindings."""

import json
from collections.abc import Sequence
from typing import Any, assert_never

import apsw

from betcode.domain.sessions.binding import BindingRecord, DueSession, SessionBinding
from betcode.domain.store.changes import SaveBinding, SaveMetadata
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


def apply(db: apsw.Connection, change: SaveBinding | SaveMetadata) -> None:
    match change:
        case SaveBinding(session, binding):
            db.execute(_SAVE, (*_values(binding), session))
        case SaveMetadata(session, metadata):
            text = json.dumps(dict(metadata))
            db.execute("UPDATE session_makings SET metadata = ? WHERE session = ?", (text, session))
        case _:
            assert_never(change)


def bound(db: apsw.Connection, session: SessionKey) -> BindingRecord:
    row = db.execute(f"{_BOUND} AND s.key = ?", (session,)).fetchone()
    return BindingRecord() if row is None else _bound(row)


def all_bound(db: apsw.Connection) -> dict[SessionKey, BindingRecord]:
    return {SessionKey(row[0]): _bound(row) for row in db.execute(_BOUND)}


def unfinished(db: apsw.Connection) -> list[DueSession]:
    """The open sessions that have a timeout, or that are being stopped."""
    return [DueSession(SessionId(row[0]), SessionBinding(*row[1:])) for row in db.execute(_DUE)]


def _values(binding: SessionBinding) -> tuple[str | int, ...]:
    return (
        binding.campaign_id,
        binding.festival_id,
        binding.task_id,
        binding.parent,
        binding.restart_count,
        binding.started_ns,
        binding.ended_ns,
        binding.failure,
        binding.timeout_ns,
        binding.deadline_ns,
        binding.stop_by_ns,
    )


def _bound(row: Sequence[Any]) -> BindingRecord:
    _, *columns, first_run_ns, crash_note = row
    binding = SessionBinding() if columns[0] is None else SessionBinding(*columns)
    return BindingRecord(binding, first_run_ns or 0, crash_note or "")
