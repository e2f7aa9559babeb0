"""SQL of prompts and session grants."""

import json
from collections.abc import Sequence
from typing import Any, assert_never

import apsw

from betcode.domain.errors import StorageFailed
from betcode.domain.store.changes import AddGrant, ClearGrant, SavePrompt
from betcode.domain.store.rows import AskedUse, CarriedState, GrantRow, PromptKind, PromptRow, PromptState
from betcode.domain.values.identifiers import RunKey, Seq, SessionId, SessionKey

_COLUMNS = """request_id, session_id, run, kind, tool_name, input, event, seq, received_at, state, decision, answers,
    answered_by, response_at, idempotency_key, answered_by_type, tool_description, tool_use_id, agent_id, message,
    updated_input, grant_pattern, superseded_by, forwarded_at, expires_at, last_extended_at, extension_count,
    reminders_sent, push_notification_id, kept"""
_NAMES = [name.strip() for name in _COLUMNS.split(",")]
_SAVE = f"""
INSERT INTO pending_permissions ({_COLUMNS}) VALUES ({", ".join("?" * len(_NAMES))})
ON CONFLICT (request_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _NAMES[2:])}
WHERE session_id = excluded.session_id
"""
_PROMPT = f"""
SELECT {", ".join(f"p.{name}" for name in _NAMES)}, s.session_id
FROM pending_permissions p JOIN sessions s ON s.key = p.session_id AND s.deleted = 0
"""
_OPEN = f"{_PROMPT} WHERE p.state = 'open' ORDER BY p.received_at, p.rowid"
_OPEN_OF = f"{_PROMPT} WHERE p.state = 'open' AND p.session_id = ? ORDER BY p.received_at, p.rowid"
_KEPT = f"{_PROMPT} WHERE p.kept <> '' AND p.session_id = ? ORDER BY p.received_at, p.rowid"
_ANSWERED = f"""
{_PROMPT} WHERE p.session_id = ? AND p.run = ? AND p.state = 'answered' AND p.seq > ? ORDER BY p.received_at, p.rowid
"""
_FIND = f"{_PROMPT} WHERE p.request_id = ?"
_BEGINNING = f"{_PROMPT} WHERE p.request_id >= ? AND p.request_id < ? LIMIT 100"
_ANSWERED_WITH = (
    "SELECT request_id FROM pending_permissions WHERE idempotency_key = ? AND idempotency_key <> '' LIMIT 1"
)
_ASKED_USES = """
SELECT tool_use_id, tool_name, input, received_at FROM pending_permissions
WHERE session_id = ? AND received_at >= ? AND run <> 0 ORDER BY received_at, rowid
"""  # run 0: asked by us, not by an agent
_ADD_GRANT = """
INSERT INTO permission_grants (session, tool_name, pattern, action, created_ns, granted_by, request_id)
SELECT key, ?, ?, ?, ?, ?, ? FROM sessions WHERE key = ? AND deleted = 0
"""
_GRANTS = """
SELECT session, tool_name, pattern, action, created_ns, granted_by, request_id FROM permission_grants
WHERE session = ? ORDER BY key
"""


def apply(db: apsw.Connection, change: SavePrompt | AddGrant | ClearGrant) -> None:
    match change:
        case SavePrompt():
            _save_prompt(db, change.row)
        case AddGrant():
            _add_grant(db, change.grant)
        case ClearGrant():
            _clear_grant(db, change)
        case _:
            assert_never(change)


def _save_prompt(db: apsw.Connection, row: PromptRow) -> None:
    asked = (row.request_id, row.session, row.run, row.kind, row.tool_name, row.input_json, row.event, row.seq)
    answer = (row.decision, json.dumps(dict(row.answers)), row.answered_by, row.answered_ns, row.idempotency_key)
    about = (row.answered_by_type, row.description, row.tool_use_id, row.agent_id)
    in_full = (row.message, row.updated_input, row.grant_pattern, row.superseded_by)
    times = (row.forwarded_ns, row.expires_ns, row.last_extended_ns, row.extension_count, row.reminders_sent)
    last = (row.push_notification_id, row.kept)
    db.execute(_SAVE, (*asked, row.asked_ns, row.state, *answer, *about, *in_full, *times, *last))
    _one_row(db, f"prompt {row.request_id} of session {row.session}")


def open_prompts(db: apsw.Connection, session: SessionKey | None) -> list[tuple[SessionId, PromptRow]]:
    rows = db.execute(_OPEN) if session is None else db.execute(_OPEN_OF, (session,))
    return [_prompt_row(row) for row in rows]


def kept_prompts(db: apsw.Connection, session: SessionKey) -> list[PromptRow]:
    return [_prompt_row(row)[1] for row in db.execute(_KEPT, (session,))]


def answered_prompts(db: apsw.Connection, session: SessionKey, run: RunKey, after: Seq) -> list[PromptRow]:
    return [_prompt_row(row)[1] for row in db.execute(_ANSWERED, (session, run, after))]


def find_prompt(db: apsw.Connection, request_id: str) -> tuple[SessionId, PromptRow] | None:
    row = db.execute(_FIND, (request_id,)).fetchone()
    return None if row is None else _prompt_row(row)


def prompts_beginning(db: apsw.Connection, text: str) -> list[tuple[SessionId, PromptRow]]:
    return [_prompt_row(row) for row in db.execute(_BEGINNING, (text, f"{text}\U0010ffff"))]


def asked_uses(db: apsw.Connection, session: SessionKey, since_ns: int) -> list[AskedUse]:
    return [AskedUse(*row) for row in db.execute(_ASKED_USES, (session, since_ns))]


def answered_with(db: apsw.Connection, idempotency_key: str) -> str | None:
    """The request whose answer came with this key."""
    row = db.execute(_ANSWERED_WITH, (idempotency_key,)).fetchone()
    return None if row is None else str(row[0])


def _add_grant(db: apsw.Connection, grant: GrantRow) -> None:
    action = "allow" if grant.allows else "deny"
    values = (grant.tool_name, grant.pattern, action, grant.created_ns, grant.granted_by, grant.request_id)
    db.execute(_ADD_GRANT, (*values, grant.session))
    _one_row(db, f"session {grant.session}")


def _clear_grant(db: apsw.Connection, change: ClearGrant) -> None:
    statement = "DELETE FROM permission_grants WHERE session = ? AND tool_name = ? AND pattern = ?"
    db.execute(statement, (change.session, change.tool_name, change.pattern))


def grants(db: apsw.Connection, session: SessionKey) -> list[GrantRow]:
    return [
        GrantRow(SessionKey(key), tool, pattern, action == "allow", created_ns, granted_by, request_id)
        for key, tool, pattern, action, created_ns, granted_by, request_id in db.execute(_GRANTS, (session,))
    ]


def _prompt_row(row: Sequence[Any]) -> tuple[SessionId, PromptRow]:
    stored = dict(zip(_NAMES, row, strict=False))
    prompt = PromptRow(
        request_id=stored["request_id"],
        session=SessionKey(stored["session_id"]),
        run=RunKey(stored["run"]),
        kind=PromptKind(stored["kind"]),
        tool_name=stored["tool_name"],
        input_json=stored["input"],
        event=stored["event"],
        seq=Seq(stored["seq"]),
        asked_ns=stored["received_at"],
        state=PromptState(stored["state"]),
        decision=stored["decision"],
        answers=json.loads(stored["answers"]),
        answered_by=stored["answered_by"],
        answered_ns=stored["response_at"],
        idempotency_key=stored["idempotency_key"],
        answered_by_type=stored["answered_by_type"],
        description=stored["tool_description"],
        tool_use_id=stored["tool_use_id"],
        agent_id=stored["agent_id"],
        message=stored["message"],
        updated_input=stored["updated_input"],
        grant_pattern=stored["grant_pattern"],
        superseded_by=stored["superseded_by"],
        forwarded_ns=stored["forwarded_at"],
        expires_ns=stored["expires_at"],
        last_extended_ns=stored["last_extended_at"],
        extension_count=stored["extension_count"],
        reminders_sent=stored["reminders_sent"],
        push_notification_id=stored["push_notification_id"],
        kept=CarriedState(stored["kept"]),
    )
    return SessionId(row[-1]), prompt


def _one_row(db: apsw.Connection, what: str) -> None:
    if db.changes() != 1:
        raise StorageFailed(f"there is no {what}")
