"""`rate_limit.*`: limits for clients that connect over TCP."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

RATE_LIMIT: tuple[Setting, ...] = (
    Setting(
        "rate_limit.messages_per_minute",
        "listen.messages_per_minute",
        value_types.whole(0),
        "messages to one session by TCP clients; 0: no limit",
    ),
    Setting(
        "rate_limit.sessions_per_hour",
        "listen.sessions_per_hour",
        value_types.whole(0),
        "new sessions from one TCP address; 0: no limit",
    ),
)
