"""Read queries as SQL. Called by a reader's thread, with its own connection."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import apsw

from betcode.domain.runs.crash_policy import CrashHistory
from betcode.domain.runs.state import CancelStep, RunState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.rows import (
    NO_CRASHES,
    NO_LANDMARKS,
    Batch,
    InputKind,
    InputRow,
    InputState,
    Landmarks,
    NewSession,
    Page,
    RunRow,
    SessionRow,
    SessionState,
)
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import RunId, RunKey, Seq, SessionId, SessionKey
from betcode.storage.sessions.budgets import budget_of
from betcode.storage.sessions.event_rowid import SEQ_MASK, first_place, last_place, place_of, seq_of
from betcode.storage.sessions.write_queries import BLOB_PIECE_BYTES

_SESSION = """
SELECT s.key, s.session_id, s.provider, s.working_directory, s.worktree_id, s.created_ns,
    s.status, s.last_seq, s.epoch, s.name, s.model, s.conversation_id, s.conversation_began, s.turn_interrupted,
    s.message_count, s.input_tokens, s.output_tokens, s.cost_usd, s.context_percent, s.preview, s.updated_ns,
    s.compaction_sequence, s.context_tokens, s.landmarks, s.forked_from,
    s.crashes, s.api_pause, s.api_pause_until_ns,
    s.forked_at, s.turns, s.worked_ms, s.working_since_ns, s.budget, s.turn_abandoned,
    m.model, m.allowed_tools, m.plan_mode, m.metadata, m.environment, m.fork_point, m.subdirectory, m.asked_place,
    (SELECT count(*) FROM pending_permissions p WHERE p.session_id = s.key AND p.state = 'open'),
    (SELECT r.state FROM runs r WHERE r.session = s.key ORDER BY r.key DESC LIMIT 1),
    coalesce((SELECT b.failure FROM session_bonds b WHERE b.session = s.key), '')
"""
_FIND_SESSION = f"""{_SESSION}
FROM sessions s JOIN session_makings m ON m.session = s.key WHERE s.session_id = ? AND s.deleted = 0
"""
_EVENTS = "SELECT place, data FROM events WHERE place > ? AND place <= ? ORDER BY place"
_EVENTS_BEFORE = "SELECT data FROM events WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT ?"
_NEWEST_OF_KIND = "SELECT data FROM events WHERE place BETWEEN ? AND ? AND kind = ? ORDER BY place DESC LIMIT 1"
_OF_KIND = "SELECT data FROM events WHERE place > ? AND place <= ? AND kind = ? ORDER BY place"
_FIRST_OF_KIND = "SELECT data FROM events WHERE place > ? AND place <= ? AND kind = ? ORDER BY place LIMIT 1"
_RUN = """
SELECT r.key, r.session, r.run_id, r.state, r.started_ns, r.holder_pid, r.agent_pid, r.agent_start, r.journal_offset,
    r.dialogue_version, r.dialogue_state, r.last_input, r.ended_ns, r.exit_note, r.cancel_step, r.cancel_queued,
    r.turn_began
"""
_LIVE_RUNS = f"""{_RUN}, s.session_id FROM runs r JOIN sessions s ON s.key = r.session
WHERE r.state IN ('spawning', 'running') AND s.deleted = 0 ORDER BY r.key
"""
_SESSION_OF_RUN = """
SELECT s.session_id FROM runs r JOIN sessions s ON s.key = r.session WHERE r.run_id = ? AND s.deleted = 0
"""
_NEWEST_RUN = f"{_RUN} FROM runs r WHERE r.session = ? ORDER BY r.key DESC LIMIT 1"
_INPUT = """
SELECT i.input_id, i.session, i.kind, p.payload, i.state, i.run, i.number, i.created_ns, i.content, i.seq
FROM inputs i JOIN input_payloads p ON p.input = i.key
"""
_OPEN_INPUTS = f"{_INPUT} WHERE i.session = ? AND i.state IN ('accepted', 'delivered') ORDER BY i.key"
_FIND_INPUT = f"{_INPUT} WHERE i.session = ? AND i.input_id = ?"
_PIECES = """
SELECT p.data FROM blobs b JOIN blob_pieces p ON p.blob = b.key
WHERE b.session = ? AND b.sha256 = ? AND p.piece BETWEEN ? AND ? ORDER BY p.piece
"""


def find_session(db: apsw.Connection, session: SessionId) -> SessionRow | None:
    row = db.execute(_FIND_SESSION, (session,)).fetchone()
    return None if row is None else _session_row(row)


def closed_before(db: apsw.Connection, before_ns: int, limit: int) -> list[SessionId]:
    question = """
        SELECT session_id FROM sessions WHERE deleted = 0 AND status = 'closed' AND updated_ns < ?
        ORDER BY updated_ns LIMIT ?"""
    return [SessionId(text) for (text,) in db.execute(question, (before_ns, limit))]


def list_sessions(db: apsw.Connection, which: SessionFilter) -> tuple[list[SessionRow], int]:
    """One page, newest first, and the number of all matches, both of one moment."""
    where, values = ["deleted = 0"], []
    if which.working_directory:
        where.append("working_directory = ?")
        values.append(which.working_directory)
    if which.worktree_id:
        where.append("worktree_id <> '' AND worktree_id = ?")
        values.append(which.worktree_id)
    if which.statuses:
        where.append(f"status IN ({', '.join('?' * len(which.statuses))})")
        values += which.statuses
    matching = f"FROM sessions WHERE {' AND '.join(where)}"
    page = f"SELECT key {matching} ORDER BY updated_ns DESC, key DESC LIMIT ? OFFSET ?"
    rows = f"""{_SESSION} FROM ({page}) page JOIN sessions s ON s.key = page.key
        JOIN session_makings m ON m.session = s.key ORDER BY s.updated_ns DESC, s.key DESC"""
    with db:
        total = int(db.execute(f"SELECT count(*) {matching}", values).get)
        found = db.execute(rows, (*values, max(which.limit, 0), max(which.offset, 0))).fetchall()
    return [_session_row(row) for row in found], total


def read_events(db: apsw.Connection, session: SessionKey, after: Seq, limit_bytes: int) -> Batch | None:
    events: list[bytes] = []
    first = last = place_of(session, after)
    room = limit_bytes
    for place, data in db.execute(_EVENTS, (last, last_place(session))):
        room -= len(data)
        if not events:
            first = place
        elif room < 0:
            break
        events.append(data)
        last = place
    return Batch(Seq(seq_of(first)), Seq(seq_of(last)), tuple(events)) if events else None


def read_before(
    db: apsw.Connection, session: SessionKey, before: Seq, not_before: Seq, limit_bytes: int, limit_events: int
) -> Page:
    """Reads only the events that it returns, and one more."""
    events: list[bytes] = []
    room = limit_bytes
    window = (place_of(session, not_before), place_of(session, min(before, SEQ_MASK)), limit_events + 1)
    for (data,) in db.execute(_EVENTS_BEFORE, window):
        room -= len(data)
        if events and (room < 0 or len(events) == limit_events):
            return Page(tuple(reversed(events)), has_more=True)
        events.append(data)
    return Page(tuple(reversed(events)), has_more=False)


def newest_of_kind(db: apsw.Connection, session: SessionKey, kind: int, until: Seq) -> bytes | None:
    return db.execute(_NEWEST_OF_KIND, (first_place(session), place_of(session, until), kind)).get  # type: ignore[no-any-return]


def first_of_kind(db: apsw.Connection, session: SessionKey, kind: int, after: Seq) -> bytes | None:
    return db.execute(_FIRST_OF_KIND, (place_of(session, after), last_place(session), kind)).get  # type: ignore[no-any-return]


def events_of_kind(db: apsw.Connection, session: SessionKey, kind: int, after: Seq, until: Seq) -> list[bytes]:
    rows = db.execute(_OF_KIND, (place_of(session, after), place_of(session, until), kind))
    return [data for (data,) in rows]


def live_runs(db: apsw.Connection) -> list[tuple[SessionId, RunRow]]:
    return [(SessionId(row[-1]), _run_row(row[:-1])) for row in db.execute(_LIVE_RUNS)]


def sessions_of_runs(db: apsw.Connection, runs: Sequence[str]) -> dict[str, SessionId]:
    found = ((run, db.execute(_SESSION_OF_RUN, (run,)).fetchone()) for run in runs)
    return {run: SessionId(row[0]) for run, row in found if row is not None}


def newest_run(db: apsw.Connection, session: SessionKey) -> RunRow | None:
    row = db.execute(_NEWEST_RUN, (session,)).fetchone()
    return None if row is None else _run_row(row)


def open_inputs(db: apsw.Connection, session: SessionKey) -> list[InputRow]:
    return [_input_row(row) for row in db.execute(_OPEN_INPUTS, (session,))]


def find_input(db: apsw.Connection, session: SessionKey, input_id: str) -> InputRow | None:
    row = db.execute(_FIND_INPUT, (session, input_id)).fetchone()
    return None if row is None else _input_row(row)


def blob_size(db: apsw.Connection, session: SessionKey, sha256: str) -> int | None:
    size = db.execute("SELECT size FROM blobs WHERE session = ? AND sha256 = ?", (session, sha256)).get
    return None if size is None else int(size)


def read_blob(db: apsw.Connection, session: SessionKey, sha256: str, offset: int, limit: int) -> bytes:
    """At most `limit` bytes from `offset`; empty at the end, and where there is no such blob."""
    if offset < 0 or limit <= 0:
        return b""
    first, last = offset // BLOB_PIECE_BYTES, (offset + limit - 1) // BLOB_PIECE_BYTES
    pieces = [data for (data,) in db.execute(_PIECES, (session, sha256, first, last))]
    skip = offset - first * BLOB_PIECE_BYTES
    return b"".join(pieces)[skip : skip + limit]


def _session_row(row: Sequence[Any]) -> SessionRow:
    key, session_id, provider, working_directory, worktree_id, created_ns = row[:6]
    status, last_seq, epoch, name, model, conversation_id, began, interrupted = row[6:14]
    compaction_sequence, context_tokens, landmarks, forked_from = row[21:25]
    crashes, api_pause, api_pause_until_ns = row[25:28]
    forked_at, turns, worked_ms, working_since_ns, budget, abandoned = row[28:34]
    made_model, allowed_tools, plan_mode, metadata, environment, fork_point = row[34:40]
    subdirectory, asked_place, pending, run_state, failure = row[40:]
    new = NewSession(
        session_id=SessionId(session_id),
        provider=provider,
        working_directory=working_directory,
        model=made_model,
        allowed_tools=tuple(json.loads(allowed_tools)),
        plan_mode=bool(plan_mode),
        worktree_id=worktree_id,
        subdirectory=subdirectory,
        asked_place=asked_place,
        metadata=json.loads(metadata),
        environment=None if environment is None else json.loads(environment),
        created_ns=created_ns,
        forked_from=forked_from,
        forked_at=Seq(forked_at),
        fork_point=fork_point,
    )
    counted = SessionState(
        SessionStatus(status),
        Seq(last_seq),
        epoch,
        name,
        model,
        conversation_id,
        bool(began),
        TranscriptEnd((bool(interrupted), bool(abandoned))),
        *row[14:21],
    )
    state = replace(
        counted,
        compaction_sequence=Seq(compaction_sequence),
        context_tokens=context_tokens,
        landmarks=Landmarks(*json.loads(landmarks)) if landmarks else NO_LANDMARKS,
        crashes=_crash_history(crashes),
        api_pause=api_pause,
        api_pause_until_ns=api_pause_until_ns,
        turns=turns,
        worked_ms=worked_ms,
        working_since_ns=working_since_ns,
        budget=budget_of(budget),
    )
    newest = None if run_state is None else RunState(run_state)
    return SessionRow(SessionKey(key), new, state, pending, newest, failure)


def _crash_history(stored: str) -> CrashHistory:
    if not stored:
        return NO_CRASHES
    in_a_row, *times = json.loads(stored)
    return CrashHistory(tuple(times), in_a_row)


def _run_row(row: Sequence[Any]) -> RunRow:
    key, session, run_id, state, *rest, cancel_step, cancel_queued, turn_began = row
    run = RunRow(RunKey(key), SessionKey(session), RunId(run_id), RunState(state), *rest)
    return replace(run, cancel_step=CancelStep(cancel_step), cancel_queued=bool(cancel_queued), turn_began=turn_began)


def _input_row(row: Sequence[Any]) -> InputRow:
    input_id, session, kind, payload, state, run, number, created_ns, content, seq = row
    return InputRow(
        input_id=input_id,
        session=SessionKey(session),
        kind=InputKind(kind),
        payload=payload,
        state=InputState(state),
        run=None if run is None else RunKey(run),
        number=number,
        created_ns=created_ns,
        content=content,
        seq=Seq(seq),
    )
