"""Who may type in a session, who is connected, up to where it was compacted, and what it was forked from."""

import apsw

_SCHEMA = """
ALTER TABLE sessions ADD COLUMN input_lock_client TEXT;
ALTER TABLE sessions ADD COLUMN compaction_sequence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN context_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN landmarks TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN forked_from TEXT NOT NULL DEFAULT '';

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
    """Add the columns and tables; what is stored already keeps its meaning."""
    for _ in db.execute(_SCHEMA):
        pass
