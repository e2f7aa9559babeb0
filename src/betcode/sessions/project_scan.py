"""Finds the files with which a project makes agents run code: hooks, MCP servers, environment, plugins, allow rules.

Looked at are the session's directory and every directory above it, since agents read some of these files from parents.
What cannot be understood counts as something that runs. Text for the model alone (CLAUDE.md, AGENTS.md) does not count.
"""

import json
import os
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from betcode.config.plain_file import read_plain
from betcode.domain.project_files import Program, ProjectItem

_LIMIT_BYTES = 1024 * 1024
_MOST_ITEMS = 50
_MOST_NAMES = 6
_NAME_CHARACTERS = 60
_UNREADABLE = "settings that cannot be read"

# Of Claude Code's settings: these neither run anything nor let anything through. Any other key counts.
_HARMLESS = frozenset(
    {
        "$schema",
        "alwaysThinkingEnabled",
        "attribution",
        "cleanupPeriodDays",
        "disableAllHooks",
        "disabledMcpjsonServers",
        "effortLevel",
        "includeCoAuthoredBy",
        "language",
        "model",
        "outputStyle",
        "permissions",  # looked at by itself
        "respectGitignore",
        "showTurnDuration",
        "spinnerTipsEnabled",
    }
)
_RESTRICTING = frozenset({"deny", "ask", "disableBypassPermissionsMode"})
_TITLES = {
    "hooks": "hooks",
    "env": "environment",
    "mcpServers": "MCP servers",
    "mcp_servers": "MCP servers",
    "mcp": "MCP servers",
    "plugin": "plugins",
    "plugins": "plugins",
    "enabledPlugins": "plugins",
}
_CODE_OF_CLAUDE = ("commands", "skills", "agents", "workflows")
_CODE_OF_OPENCODE = ("command", "commands", "agent", "agents", "mode", "modes", "tool", "tools", "skill", "skills")
_PLUGINS_OF_OPENCODE = ("plugin", "plugins")

Found = Iterator[ProjectItem]


def scan(
    directory: str, programs: Collection[Program], own: Collection[str] = (), ours: Collection[str] = ()
) -> tuple[ProjectItem, ...]:
    """What these programs, started in `directory`, would find. It may block.

    `own` are directories of the user's own settings, which are no project's. `ours` are keys that betcode itself reads
    in a project's settings.
    """
    start = Path(os.path.realpath(directory))
    found = (
        item
        for place in (start, *start.parents)
        for program in Program
        if program in programs
        for item in _FINDERS[program](place, frozenset(ours))
        if not any(Path(item.path).is_relative_to(each) for each in own)
    )
    return tuple(islice(found, _MOST_ITEMS))


def _claude(place: Path, ours: frozenset[str]) -> Found:
    for name in ("settings.json", "settings.local.json"):
        path = place / ".claude" / name
        if os.path.lexists(path):
            settings = _json(path)
            brings = _UNREADABLE if settings is None else _of_claude(settings, ours)
            if brings:
                yield ProjectItem(Program.CLAUDE, str(path), brings)
    path = place / ".mcp.json"
    if os.path.lexists(path):
        servers = _json(path)
        if servers is None or servers.get("mcpServers") != {}:
            yield ProjectItem(Program.CLAUDE, str(path), _UNREADABLE if servers is None else _described(servers))
    yield from _directories(Program.CLAUDE, place / ".claude", _CODE_OF_CLAUDE)


def _of_claude(settings: Mapping[str, Any], ours: frozenset[str]) -> str:
    counted = {key: value for key, value in settings.items() if key not in _HARMLESS and key not in ours}
    parts = [_described(counted)] if counted else []
    permissions = settings.get("permissions", {})
    if not isinstance(permissions, dict):
        return _UNREADABLE
    allow = permissions.get("allow")
    if allow:
        parts.append(f"allow rules{_names(allow)}")
    parts += [f"permissions.{key}" for key in permissions if key not in _RESTRICTING | {"allow"} | ours]
    return ", ".join(parts)


def _codex(place: Path, _: frozenset[str]) -> Found:
    home = place / ".codex"
    path = home / "config.toml"
    if os.path.lexists(path):
        settings = _toml(path)
        brings = _UNREADABLE if settings is None else _described(settings)
        if brings:
            yield ProjectItem(Program.CODEX, str(path), brings)
    if os.path.lexists(home / "hooks.json"):
        yield ProjectItem(Program.CODEX, str(home / "hooks.json"), "hooks")
    if _has_entries(home / "rules"):
        yield ProjectItem(Program.CODEX, str(home / "rules"), "allow rules")


def _opencode(place: Path, _: frozenset[str]) -> Found:
    home = place / ".opencode"
    for path in (place / "opencode.json", place / "opencode.jsonc", home / "opencode.json", home / "opencode.jsonc"):
        if os.path.lexists(path):
            settings = _json(path)
            if settings is None:  # it may have comments, and so plugins
                yield ProjectItem(Program.OPENCODE, str(path), _UNREADABLE, can_be_ignored=False)
            elif brings := _described({key: value for key, value in settings.items() if key != "$schema"}):
                has_plugins = any(settings.get(key) for key in _PLUGINS_OF_OPENCODE)
                yield ProjectItem(Program.OPENCODE, str(path), brings, can_be_ignored=not has_plugins)
    for name in _PLUGINS_OF_OPENCODE:
        if _has_entries(home / name):
            yield ProjectItem(Program.OPENCODE, str(home / name), "plugins", can_be_ignored=False)
    yield from _directories(Program.OPENCODE, home, _CODE_OF_OPENCODE)


def _gemini(place: Path, _: frozenset[str]) -> Found:
    home = place / ".gemini"
    path = home / "settings.json"
    if os.path.lexists(path):
        settings = _json(path)
        brings = _UNREADABLE if settings is None else _described(settings)
        if brings:
            yield ProjectItem(Program.GEMINI, str(path), brings)
    if os.path.lexists(home / ".env"):
        yield ProjectItem(Program.GEMINI, str(home / ".env"), "environment")
    yield from _directories(Program.GEMINI, home, ("commands", "extensions", "agents", "skills", "policies"))


_FINDERS: Mapping[Program, Callable[[Path, frozenset[str]], Found]] = {
    Program.CLAUDE: _claude,
    Program.CODEX: _codex,
    Program.OPENCODE: _opencode,
    Program.GEMINI: _gemini,
}


def _directories(program: Program, home: Path, names: Collection[str]) -> Found:
    for name in names:
        if _has_entries(home / name):
            yield ProjectItem(program, str(home / name), f"{name}, which can run commands")


def _described(settings: Mapping[str, Any]) -> str:
    """The keys of a settings file in words, with names where there are any."""
    parts = []
    for key, value in settings.items():
        title = _TITLES.get(key)
        parts.append(f"setting {_shown(key)}" if title is None else f"{title}{_names(value)}")
    return ", ".join(dict.fromkeys(parts[: 2 * _MOST_NAMES]))


def _names(value: object) -> str:
    if not isinstance(value, dict | list) or not value:
        return ""
    names = [_shown(str(name)) for name in islice(value, _MOST_NAMES)]
    more = [f"{len(value) - _MOST_NAMES} more"] if len(value) > _MOST_NAMES else []
    return f" ({', '.join(names + more)})"


def _shown(text: str) -> str:
    text = "".join(sign if sign.isprintable() else "?" for sign in text)
    return text if len(text) <= _NAME_CHARACTERS else text[: _NAME_CHARACTERS - 1] + "…"


def _json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(_text(path))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _toml(path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(_text(path))
    except (OSError, ValueError, RecursionError):
        return None


def _text(path: Path) -> str:
    data = read_plain(path, _LIMIT_BYTES + 1)
    if len(data) > _LIMIT_BYTES:
        raise ValueError("too long")
    return data.decode()


def _has_entries(path: Path) -> bool:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
