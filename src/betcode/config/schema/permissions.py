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
        "whether agents submit every tool call before their own rules decide: `always`, `never`, or `auto` (if any "
        "rule denies or asks, see [rules.md](rules.md)). Applies to agents started later",
    ),
    Setting(
        "permissions.default_ttl",
        "engine.permission_ttl_s",
        value_types.duration(),
        "how long a prompt stays open without activity before it expires, between permissions.min_ttl and "
        "permissions.max_ttl",
    ),
    Setting(
        "permissions.min_ttl",
        "engine.permission_min_ttl_s",
        value_types.duration(_SHORTEST_TTL_S, _LONGEST_TTL_S),
        "minimum of permissions.default_ttl",
    ),
    Setting(
        "permissions.max_ttl",
        "engine.permission_max_ttl_s",
        value_types.duration(_SHORTEST_TTL_S, _LONGEST_TTL_S),
        "maximum of permissions.default_ttl",
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
        "when to send reminders, as times since the prompt was opened",
    ),
)
