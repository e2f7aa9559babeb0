"""A view of the prompts for scripts: times in seconds, the id of the session as clients know it, NULL for nothing."""

import apsw

_SCHEMA = """
CREATE VIEW pending_permissions_in_seconds AS
SELECT
    p.request_id,
    s.session_id,
    p.tool_name,
    nullif(p.tool_description, '') AS tool_description,
    p.input,
    p.received_at / 1000000000 AS received_at,
    nullif(p.forwarded_at / 1000000000, 0) AS forwarded_at,
    p.expires_at / 1000000000 AS expires_at,
    nullif(p.last_extended_at / 1000000000, 0) AS last_extended_at,
    p.extension_count,
    p.reminder_1h_sent,
    p.reminder_24h_sent,
    nullif(p.push_notification_id, '') AS push_notification_id,
    p.response_received,
    p.response_decision,
    nullif(p.response_at / 1000000000, 0) AS response_at
FROM main.pending_permissions p JOIN main.sessions s ON s.key = p.session_id
WHERE s.deleted = 0;
"""


def m007_prompts_in_seconds(db: apsw.Connection) -> None:
    """Create the view."""
    for _ in db.execute(_SCHEMA):
        pass
