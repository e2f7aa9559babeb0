"""Every setting, declared once: its key, its field, the allowed values and its meaning.

A key is declared in the module of its prefix: `agents.*` in `agents`.
"""

from collections.abc import Mapping

from betcode.config.schema.agents import AGENTS
from betcode.config.schema.cancel import CANCEL
from betcode.config.schema.daemon import DAEMON
from betcode.config.schema.environment import ENVIRONMENT
from betcode.config.schema.feature_flags import FEATURE_FLAGS
from betcode.config.schema.journals import JOURNALS
from betcode.config.schema.notify import NOTIFY
from betcode.config.schema.obey import OBEY
from betcode.config.schema.observability import OBSERVABILITY
from betcode.config.schema.permissions import PERMISSIONS
from betcode.config.schema.rate_limit import RATE_LIMIT
from betcode.config.schema.sessions import SESSIONS
from betcode.config.schema.setting import Setting
from betcode.config.schema.worktree import WORKTREE

__all__ = ["GROUPS", "RULE_LISTS", "SETTINGS", "Setting"]

# Rules are in the same files; `betcode.rules` reads them again whenever a file changes.
RULE_LISTS = frozenset({"permissions.allow", "permissions.ask", "permissions.deny"})

# By prefix. `feature_flags` is a key without parts.
GROUPS: Mapping[str, tuple[Setting, ...]] = {
    "agents": AGENTS,
    "cancel": CANCEL,
    "sessions": SESSIONS,
    "worktree": WORKTREE,
    "permissions": PERMISSIONS,
    "notify": NOTIFY,
    "journals": JOURNALS,
    "daemon": DAEMON,
    "feature_flags": FEATURE_FLAGS,
    "environment": ENVIRONMENT,
    "obey": OBEY,
    "rate_limit": RATE_LIMIT,
    "observability": OBSERVABILITY,
}
SETTINGS: Mapping[str, Setting] = {setting.key: setting for group in GROUPS.values() for setting in group}
