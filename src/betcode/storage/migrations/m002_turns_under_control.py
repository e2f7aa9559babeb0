"""Who may type, who is connected, where a session was compacted or forked, its crashes, its waits and its budget."""

import apsw

_SCHEMA = """
ALTER TABLE sessions ADD COLUMN input_lock_client TEXT;
ALTER TABLE sessions ADD COLUMN compaction_sequence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN context_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN landmarks TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN forked_from TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN forked_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN worked_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN working_since_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN budget TEXT NOT NULL DEFAULT '';
ALTER TABLE session_makings ADD COLUMN fork_point TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN crashes TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN api_pause TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN api_pause_until_ns INTEGER NOT NULL DEFAULT 0;

ALTER TABLE runs ADD COLUMN cancel_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN cancel_queued INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN turn_began INTEGER NOT NULL DEFAULT 0;

-- Nothing was started again by itself before, so no run of then is waited for.
UPDATE runs SET state = 'crashed' WHERE state = 'backing_off';

CREATE INDEX sessions_locked ON sessions (input_lock_client) WHERE input_lock_client IS NOT NULL;

CREATE TABLE connected_clients (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions (key),
    client_id TEXT NOT NULL,
    client_type TEXT NOT NULL,
    connected_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX connected_clients_of_session ON connected_clients (session);
"""


def m002_turns_under_control(db: apsw.Connection) -> None:
    """Add the columns and tables; what is stored already keeps its meaning, in the words of now."""
    for _ in db.execute(_SCHEMA):
        pass
