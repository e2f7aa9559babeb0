"""The first schema: sessions and their events, runs, inputs, prompts, blobs and grants."""

import apsw

# An event's row id combines its session's key and its number (see storage/sessions/event_rowid.py). A session's log is
# therefore contiguous in one B-tree: appended at its end, read in order, with no second index. Rows that every commit
# rewrites are small; large and fixed values (session parameters, payloads) have tables of their own.
_SCHEMA = """
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL UNIQUE,
    provider TEXT NOT NULL,
    working_directory TEXT NOT NULL,
    worktree_id TEXT NOT NULL,
    created_ns INTEGER NOT NULL,
    status TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    name TEXT NOT NULL,
    model TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    conversation_began INTEGER NOT NULL,
    turn_interrupted INTEGER NOT NULL,
    message_count INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    context_percent REAL NOT NULL,
    preview TEXT NOT NULL,
    updated_ns INTEGER NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX sessions_newest ON sessions (updated_ns) WHERE deleted = 0;
CREATE INDEX sessions_of_directory ON sessions (working_directory) WHERE deleted = 0;
CREATE INDEX sessions_of_worktree ON sessions (worktree_id) WHERE deleted = 0 AND worktree_id <> '';
CREATE INDEX sessions_deleted ON sessions (key) WHERE deleted = 1;

CREATE TABLE session_makings (
    session INTEGER PRIMARY KEY REFERENCES sessions (key),
    model TEXT NOT NULL,
    allowed_tools TEXT NOT NULL,
    plan_mode INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    environment TEXT
) STRICT;

CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    data BLOB NOT NULL,
    session INTEGER GENERATED ALWAYS AS (place >> 40) VIRTUAL,
    seq INTEGER GENERATED ALWAYS AS (place & 1099511627775) VIRTUAL
) STRICT;

CREATE TABLE runs (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (key),
    run_id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    started_ns INTEGER NOT NULL,
    holder_pid INTEGER NOT NULL,
    agent_pid INTEGER NOT NULL,
    agent_start INTEGER NOT NULL,
    journal_offset INTEGER NOT NULL,
    dialogue_version INTEGER NOT NULL,
    dialogue_state BLOB NOT NULL,
    last_input INTEGER NOT NULL,
    ended_ns INTEGER NOT NULL,
    exit_note TEXT NOT NULL
) STRICT;
CREATE INDEX runs_of_session ON runs (session);
CREATE INDEX runs_live ON runs (key) WHERE state IN ('spawning', 'running');

CREATE TABLE inputs (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (key),
    input_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    run INTEGER,
    number INTEGER NOT NULL,
    created_ns INTEGER NOT NULL,
    content BLOB NOT NULL,
    seq INTEGER NOT NULL,
    UNIQUE (session, input_id)
) STRICT;
CREATE INDEX inputs_open ON inputs (session, key) WHERE state IN ('accepted', 'delivered');

CREATE TABLE input_payloads (
    input INTEGER PRIMARY KEY REFERENCES inputs (key),
    payload BLOB NOT NULL
) STRICT;

CREATE TABLE prompts (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    request_id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES sessions (key),
    run INTEGER NOT NULL,
    kind TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    input_json TEXT NOT NULL,
    event BLOB NOT NULL,
    seq INTEGER NOT NULL,
    asked_ns INTEGER NOT NULL,
    state TEXT NOT NULL,
    decision TEXT NOT NULL,
    answers TEXT NOT NULL,
    answered_by TEXT NOT NULL,
    answered_ns INTEGER NOT NULL,
    idempotency_key TEXT NOT NULL
) STRICT;
CREATE INDEX prompts_of_session ON prompts (session);
CREATE INDEX prompts_open ON prompts (session) WHERE state = 'open';

CREATE TABLE blobs (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (key),
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    UNIQUE (session, sha256)
) STRICT;

CREATE TABLE blob_pieces (
    blob INTEGER NOT NULL REFERENCES blobs (key),
    piece INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (blob, piece)
) STRICT;

CREATE TABLE permission_grants (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (key),
    tool_name TEXT NOT NULL,
    pattern TEXT NOT NULL DEFAULT '',
    action TEXT NOT NULL CHECK (action IN ('allow', 'deny')),
    created_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX permission_grants_of_session ON permission_grants (session, tool_name);
"""


def m001_the_log(db: apsw.Connection) -> None:
    """Make the tables of the log."""
    for _ in db.execute(_SCHEMA):
        pass
