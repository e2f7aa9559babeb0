"""`permissions.*`: how long prompts remain open, and which calls are screened."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

_SHORTEST_TTL_S = 3600.0
_LONGEST_TTL_S = 30 * 86400.0

PERMISSIONS: tuple[Setting, ...] = (
    Setting(
        "permissions.screen_all",
        "engine.screen_all",
        value_types.one_of("auto", "always", "never"),
        "whether an agent shows every use of a tool before its own rules decide: `always`, `never`, or where any "
        "rule denies or asks ([rules.md](rules.md)); for agents started from then on",
    ),
    Setting(
        "permissions.default_ttl",
        "engine.permission_ttl_s",
        value_types.duration(),
        "how long a prompt waits without any activity; then it is denied softly. Between the next two",
    ),
    Setting(
        "permissions.min_ttl",
        "engine.permission_min_ttl_s",
        value_types.duration(_SHORTEST_TTL_S, _LONGEST_TTL_S),
        "the least that may be set",
    ),
    Setting(
        "permissions.max_ttl",
        "engine.permission_max_ttl_s",
        value_types.duration(_SHORTEST_TTL_S, _LONGEST_TTL_S),
        "the most that may be set",
    ),
    Setting(
        "permissions.extend_on_activity",
        "engine.extend_on_activity",
        value_types.yes_or_no(),
        "activity in a session restarts the timeout of its open prompts",
    ),
    Setting(
        "permissions.extend_on",
        "engine.extend_on",
        value_types.one_of("activity", "human"),
        "`human`: only messages and answers count, not a client that attaches or remains attached",
    ),
    Setting(
        "permissions.reminder_intervals",
        "engine.reminder_intervals_s",
        value_types.ascending_durations(),
        "when to remind, counted from the question",
    ),
)
