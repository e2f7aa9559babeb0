"""The ledger of prompts with its times, who granted what, and the audit."""

import apsw

# Times are nanoseconds since the epoch, as everywhere in this file. `session_id` is the key of the session's row.
_SCHEMA = """
CREATE TABLE pending_permissions (
    request_id TEXT PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    tool_name TEXT NOT NULL,
    tool_description TEXT NOT NULL DEFAULT '',
    input TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    forwarded_at INTEGER NOT NULL DEFAULT 0,
    expires_at INTEGER NOT NULL DEFAULT 0,
    last_extended_at INTEGER NOT NULL DEFAULT 0,
    extension_count INTEGER NOT NULL DEFAULT 0,
    reminders_sent INTEGER NOT NULL DEFAULT 0,
    reminder_1h_sent INTEGER GENERATED ALWAYS AS (reminders_sent >= 1) VIRTUAL,
    reminder_24h_sent INTEGER GENERATED ALWAYS AS (reminders_sent >= 2) VIRTUAL,
    push_notification_id TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    decision TEXT NOT NULL DEFAULT '',
    response_received INTEGER GENERATED ALWAYS AS (state <> 'open') VIRTUAL,
    response_decision TEXT GENERATED ALWAYS AS (
        CASE
            WHEN state = 'expired' THEN 'expired'
            WHEN decision IN ('ALLOW_ONCE', 'ALLOW_WITH_EDIT') THEN 'allow_once'
            WHEN decision = 'ALLOW_SESSION' THEN 'allow_session'
            WHEN decision LIKE 'DENY%' THEN 'deny'
        END) VIRTUAL,
    response_at INTEGER NOT NULL DEFAULT 0,
    run INTEGER NOT NULL,
    kind TEXT NOT NULL,
    event BLOB NOT NULL,
    seq INTEGER NOT NULL,
    tool_use_id TEXT NOT NULL DEFAULT '',
    agent_id TEXT NOT NULL DEFAULT '',
    answers TEXT NOT NULL DEFAULT '{}',
    answered_by TEXT NOT NULL DEFAULT '',
    idempotency_key TEXT NOT NULL DEFAULT '',
    answered_by_type TEXT NOT NULL DEFAULT '',
    message TEXT NOT NULL DEFAULT '',
    updated_input TEXT NOT NULL DEFAULT '',
    grant_pattern TEXT NOT NULL DEFAULT '',
    superseded_by TEXT NOT NULL DEFAULT '',
    kept TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO pending_permissions (request_id, session_id, tool_name, input, received_at, state, decision, response_at,
    run, kind, event, seq, answers, answered_by, idempotency_key)
SELECT request_id, session, tool_name, input_json, asked_ns, state, decision, answered_ns, run, kind, event, seq,
    answers, answered_by, idempotency_key
FROM prompts ORDER BY key;
DROP TABLE prompts;
CREATE INDEX idx_pending_session ON pending_permissions (session_id);
CREATE INDEX idx_pending_expires ON pending_permissions (expires_at) WHERE response_received = 0;
CREATE INDEX idx_pending_reminders ON pending_permissions (reminder_1h_sent, reminder_24h_sent)
    WHERE response_received = 0;
CREATE INDEX answered_with ON pending_permissions (idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX pending_open ON pending_permissions (session_id) WHERE state = 'open';
CREATE INDEX pending_kept ON pending_permissions (session_id) WHERE kept <> '';

ALTER TABLE permission_grants ADD COLUMN granted_by TEXT NOT NULL DEFAULT '';
ALTER TABLE permission_grants ADD COLUMN request_id TEXT NOT NULL DEFAULT '';

CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at_ns INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    input_sha256 TEXT NOT NULL,
    what TEXT NOT NULL,
    outcome TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    rule TEXT NOT NULL,
    client TEXT NOT NULL,
    peer TEXT NOT NULL,
    note TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE INDEX audit_of_session ON audit (session_id, number);
CREATE INDEX audit_at ON audit (at_ns, number);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
"""


def m003_permissions(db: apsw.Connection) -> None:
    """Move the prompts into a ledger that knows their times, and make room for grants and audit."""
    for _ in db.execute(_SCHEMA):
        pass
