"""Every setting, declared once: its key, the field it fills, what is allowed, what it means."""

from collections.abc import Mapping

from betcode.config.schema.agents import AGENTS
from betcode.config.schema.daemon import DAEMON
from betcode.config.schema.network import NETWORK
from betcode.config.schema.permissions import PERMISSIONS
from betcode.config.schema.setting import Setting
from betcode.config.schema.turns import TURNS
from betcode.config.schema.worktrees import WORKTREES

__all__ = ["RULE_LISTS", "SETTINGS", "Setting"]

# Rules stand in the same files; `betcode.rules` reads them, anew whenever a file changes.
RULE_LISTS = frozenset({"permissions.allow", "permissions.ask", "permissions.deny"})

SETTINGS: Mapping[str, Setting] = {
    setting.key: setting for theme in (TURNS, AGENTS, WORKTREES, PERMISSIONS, DAEMON, NETWORK) for setting in theme
}
