"""Changes as SQL. Called by the writer's thread, inside a transaction."""

import functools
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

import apsw

from betcode.domain.errors import StorageFailed
from betcode.domain.runs.crash_policy import CrashHistory
from betcode.domain.runs.state import RunState
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.input_transitions import OPEN
from betcode.domain.store.changes import (
    AddAudit,
    AddBlob,
    AddGrant,
    AddInput,
    AppendEvents,
    AssignInput,
    Change,
    ClearGrant,
    ForgetClients,
    MoveInput,
    SaveBinding,
    SaveClients,
    SaveMetadata,
    SavePrompt,
    SaveRun,
    SaveSession,
)
from betcode.domain.store.rows import (
    NO_CRASHES,
    Blob,
    InputRow,
    Landmarks,
    NewRun,
    NewSession,
    RunRow,
    SessionState,
    StoredEvent,
)
from betcode.domain.values.identifiers import RunKey, SessionKey
from betcode.storage.permissions import audit_log, prompt_queries
from betcode.storage.sessions import binding_queries, connections
from betcode.storage.sessions.budgets import budget_text
from betcode.storage.sessions.event_rowid import first_place, last_place, place_of, seq_of

BLOB_PIECE_BYTES = 128 * 1024

# Many rows in one statement: each statement is one more time that the thread must get the interpreter back.
_ROWS_AT_ONCE = (64, 16, 4, 1)


def apply(db: apsw.Connection, changes: Sequence[Change]) -> None:
    """Make all the changes.

    Raises:
        StorageFailed: one of them cannot be made.
    """
    for change in changes:
        match change:
            case AppendEvents():
                append(db, change.session, change.events)
            case SaveSession():
                _save_session(db, change.session, change.state)
            case SaveRun():
                _save_run(db, change.run)
            case AddInput():
                _add_input(db, change.row)
            case AssignInput():
                _assign_input(db, change)
            case MoveInput():
                db.execute(_MOVE_INPUT, (change.state, change.session, change.input_id))
                _one_row(db, f"open input {change.input_id}")  # a terminal state is final
            case SavePrompt() | AddGrant() | ClearGrant():
                prompt_queries.apply(db, change)
            case AddAudit():
                audit_log.add(db, change.entry)
            case AddBlob():
                _add_blob(db, change.session, change.blob)
            case SaveClients() | ForgetClients() | SaveBinding() | SaveMetadata():
                _apply_beside(db, change)
            case _:
                assert_never(change)


def _apply_beside(db: apsw.Connection, change: SaveClients | ForgetClients | SaveBinding | SaveMetadata) -> None:
    """Apply a change of the tables other than the log."""
    match change:
        case SaveClients() | ForgetClients():
            connections.apply(db, change)
        case SaveBinding() | SaveMetadata():
            binding_queries.apply(db, change)
        case _:
            assert_never(change)


_INSERT_SESSION = """
INSERT INTO sessions (session_id, provider, working_directory, worktree_id, created_ns, forked_from, forked_at,
    status, last_seq, epoch, name, model, conversation_id, conversation_began, turn_interrupted, turn_abandoned,
    message_count, input_tokens, output_tokens, cost_usd, context_percent, preview, updated_ns,
    compaction_sequence, context_tokens, landmarks, crashes, api_pause, api_pause_until_ns, turns, worked_ms,
    working_since_ns, budget)
VALUES (?, ?, ?, ?, ?, ?, ?,  ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,  ?, ?, ?, ?)
"""
_INSERT_MAKING = """
INSERT INTO session_makings (session, model, allowed_tools, plan_mode, metadata, environment, fork_point,
    subdirectory, asked_place)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_UPDATE_SESSION = """
UPDATE sessions SET status = ?, last_seq = ?, epoch = ?, name = ?, model = ?, conversation_id = ?,
    conversation_began = ?, turn_interrupted = ?, turn_abandoned = ?, message_count = ?, input_tokens = ?,
    output_tokens = ?, cost_usd = ?, context_percent = ?, preview = ?, updated_ns = ?, compaction_sequence = ?,
    context_tokens = ?, landmarks = ?, crashes = ?, api_pause = ?, api_pause_until_ns = ?, turns = ?, worked_ms = ?,
    working_since_ns = ?, budget = ?
WHERE key = ? AND deleted = 0
"""
_END_OF_LOG = """
SELECT (SELECT max(place) FROM events WHERE place BETWEEN ? AND ?) FROM sessions WHERE key = ? AND deleted = 0
"""
_INSERT_RUN = """
INSERT INTO runs (session, run_id, state, started_ns, holder_pid, agent_pid, agent_start, journal_offset,
    dialogue_version, dialogue_state, last_input, ended_ns, exit_note)
SELECT key, ?, ?, ?, 0, 0, 0, 0, ?, ?, 0, 0, '' FROM sessions WHERE key = ? AND deleted = 0
"""
_UPDATE_RUN = """
UPDATE runs SET state = ?, holder_pid = ?, agent_pid = ?, agent_start = ?, journal_offset = ?, dialogue_version = ?,
    dialogue_state = ?, last_input = ?, ended_ns = ?, exit_note = ?, cancel_step = ?, cancel_queued = ?, turn_began = ?
WHERE key = ? AND session = ?
"""
_INSERT_INPUT = """
INSERT INTO inputs (session, input_id, kind, state, run, number, created_ns, content, seq)
SELECT key, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions WHERE key = ? AND deleted = 0
"""
_INSERT_PAYLOAD = "INSERT INTO input_payloads (input, payload) VALUES (last_insert_rowid(), ?)"
_ASSIGN_INPUT = "UPDATE inputs SET run = ?, number = ? WHERE session = ? AND input_id = ?"
_ASSIGN_PAYLOAD = """
UPDATE input_payloads SET payload = ? WHERE input = (SELECT key FROM inputs WHERE session = ? AND input_id = ?)
"""
_OPEN_STATES = ", ".join(f"'{state}'" for state in sorted(OPEN))
_MOVE_INPUT = f"UPDATE inputs SET state = ? WHERE session = ? AND input_id = ? AND state IN ({_OPEN_STATES})"


def create_session(
    db: apsw.Connection,
    new: NewSession,
    state: SessionState,
    events: Sequence[StoredEvent],
    binding: SessionBinding | None = None,
) -> SessionKey:
    """A session with its first events, and what it is bound to."""
    made = (new.session_id, new.provider, new.working_directory, new.worktree_id, new.created_ns)
    db.execute(_INSERT_SESSION, (*made, new.forked_from, new.forked_at, *_state_values(state)))
    key = SessionKey(db.last_insert_rowid())
    environment = None if new.environment is None else json.dumps(dict(new.environment))
    tools, metadata = json.dumps(new.allowed_tools), json.dumps(dict(new.metadata))
    making = (key, new.model, tools, new.plan_mode, metadata, environment, new.fork_point)
    db.execute(_INSERT_MAKING, (*making, new.subdirectory, new.asked_place))
    append(db, key, events)
    if binding is not None:
        binding_queries.apply(db, SaveBinding(key, binding))
    return key


def create_run(db: apsw.Connection, new: NewRun) -> RunRow:
    """A run that is being started."""
    row = RunRow(
        RunKey(0),
        new.session,
        new.run_id,
        RunState.SPAWNING,
        new.started_ns,
        dialogue_version=new.dialogue_version,
        dialogue_state=new.dialogue_state,
    )
    values = (row.run_id, row.state, row.started_ns, row.dialogue_version, row.dialogue_state, row.session)
    db.execute(_INSERT_RUN, values)
    _one_row(db, f"session {new.session}")
    return replace(row, key=RunKey(db.last_insert_rowid()))


def probe(db: apsw.Connection) -> None:
    """A write that leaves nothing to see."""
    db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('probe', '')")


def append(db: apsw.Connection, session: SessionKey, events: Sequence[StoredEvent]) -> None:
    """Append events to their session, in ascending order of their numbers."""
    if not events:
        return
    row = db.execute(_END_OF_LOG, (first_place(session), last_place(session), session)).fetchone()
    if row is None:
        raise StorageFailed(f"there is no session {session}")
    before: int = row[0] or first_place(session)
    values: list[int | bytes] = []
    for event in events:
        place = place_of(session, event.seq)
        if place <= before:
            raise StorageFailed(f"event {event.seq} of session {session} does not come after {seq_of(before)}")
        values += (place, event.kind, event.data)
        before = place
    at = 0
    for rows in _ROWS_AT_ONCE:
        while len(values) - at >= 3 * rows:
            db.execute(_insert_events(rows), values[at : at + 3 * rows])
            at += 3 * rows


@functools.cache
def _insert_events(rows: int) -> str:
    return f"INSERT INTO events (place, kind, data) VALUES {', '.join(['(?, ?, ?)'] * rows)}"


def _save_session(db: apsw.Connection, session: SessionKey, state: SessionState) -> None:
    db.execute(_UPDATE_SESSION, (*_state_values(state), session))
    _one_row(db, f"session {session}")


def _state_values(state: SessionState) -> tuple[str | int | float | None, ...]:
    return (
        state.status,
        state.last_seq,
        state.epoch,
        state.name,
        state.model,
        state.conversation_id,
        state.conversation_began,
        *state.transcript.value,
        state.message_count,
        state.input_tokens,
        state.output_tokens,
        state.cost_usd,
        state.context_percent,
        state.preview,
        state.updated_ns,
        state.compaction_sequence,
        state.context_tokens,
        _landmarks(state.landmarks),
        _crashes(state.crashes),
        state.api_pause,
        state.api_pause_until_ns,
        state.turns,
        state.worked_ms,
        state.working_since_ns,
        budget_text(state.budget),
    )


@functools.lru_cache(maxsize=256)
def _landmarks(landmarks: Landmarks) -> str:
    """They stay as they are through most commits of a turn, and every commit stores them."""
    return json.dumps(landmarks)


def _crashes(crashes: CrashHistory) -> str:
    return json.dumps([crashes.in_a_row, *crashes.times_ns]) if crashes != NO_CRASHES else ""


def _save_run(db: apsw.Connection, run: RunRow) -> None:
    moving = (run.state, run.holder_pid, run.agent_pid, run.agent_start, run.offset, run.dialogue_version)
    ending = (run.dialogue_state, run.last_input, run.ended_ns, run.exit_note)
    cancelling = (run.cancel_step, run.cancel_queued, run.turn_began)
    db.execute(_UPDATE_RUN, (*moving, *ending, *cancelling, run.key, run.session))
    _one_row(db, f"run {run.key}")


def _add_input(db: apsw.Connection, row: InputRow) -> None:
    values = (row.input_id, row.kind, row.state, row.run, row.number, row.created_ns, row.content, row.seq, row.session)
    db.execute(_INSERT_INPUT, values)
    _one_row(db, f"session {row.session}")
    db.execute(_INSERT_PAYLOAD, (row.payload,))


def _assign_input(db: apsw.Connection, change: AssignInput) -> None:
    db.execute(_ASSIGN_INPUT, (change.run, change.number, change.session, change.input_id))
    _one_row(db, f"input {change.input_id}")
    db.execute(_ASSIGN_PAYLOAD, (change.payload, change.session, change.input_id))


def _add_blob(db: apsw.Connection, session: SessionKey, blob: Blob) -> None:
    """The same content again is there already."""
    insert = "INSERT INTO blobs (session, sha256, size) VALUES (?, ?, ?) ON CONFLICT (session, sha256) DO NOTHING"
    db.execute(insert, (session, blob.sha256, len(blob.data)))
    if not db.changes():
        return
    key = db.last_insert_rowid()
    view = memoryview(blob.data)
    pieces = (
        (key, number, view[start : start + BLOB_PIECE_BYTES])
        for number, start in enumerate(range(0, len(view), BLOB_PIECE_BYTES))
    )
    db.executemany("INSERT INTO blob_pieces (blob, piece, data) VALUES (?, ?, ?)", pieces)


def _one_row(db: apsw.Connection, what: str) -> None:
    """Nothing is reported as done that met no row."""
    if db.changes() != 1:
        raise StorageFailed(f"there is no {what}")
