"""Whether the transcript of a session's agent may end in a turn that was cancelled or given up."""

import apsw

# Of conversations that began before this column nobody knows, so that no agent continues their last turn by itself.
_SCHEMA = """
ALTER TABLE sessions ADD COLUMN turn_abandoned INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET turn_abandoned = 1 WHERE conversation_began = 1 OR forked_from != '';
"""


def m006_abandoned_turns(db: apsw.Connection) -> None:
    """Add the column; a conversation that has begun gets the value that is safe."""
    for _ in db.execute(_SCHEMA):
        pass
