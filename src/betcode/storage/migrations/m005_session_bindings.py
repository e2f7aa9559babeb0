"""What sessions are bound to, and what other programs report of campaigns, festivals and their own agents."""

import apsw

_SCHEMA = """
CREATE TABLE session_bonds (
    session INTEGER PRIMARY KEY REFERENCES sessions (key) ON DELETE CASCADE,
    campaign_id TEXT NOT NULL,
    festival_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    parent TEXT NOT NULL,
    restart_count INTEGER NOT NULL,
    started_ns INTEGER NOT NULL,
    ended_ns INTEGER NOT NULL,
    failure TEXT NOT NULL,
    timeout_ns INTEGER NOT NULL,
    deadline_ns INTEGER NOT NULL,
    stop_by_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX session_bonds_due ON session_bonds (session) WHERE deadline_ns > 0 OR stop_by_ns > 0;

CREATE TABLE reported_events (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    campaign_id TEXT NOT NULL,
    festival_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    payload BLOB NOT NULL,
    at_ns INTEGER NOT NULL,
    received_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX reported_events_of_campaign ON reported_events (campaign_id, key);
CREATE INDEX reported_events_oldest ON reported_events (received_ns);

CREATE TABLE agent_activities (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    content TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    tool_call_id TEXT NOT NULL,
    tool_arguments BLOB NOT NULL,
    tool_output TEXT NOT NULL,
    tool_success INTEGER NOT NULL,
    at_ns INTEGER NOT NULL,
    received_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX agent_activities_oldest ON agent_activities (received_ns);
"""


def m005_session_bindings(db: apsw.Connection) -> None:
    """Make room for them; sessions of before have no bond."""
    for _ in db.execute(_SCHEMA):
        pass
