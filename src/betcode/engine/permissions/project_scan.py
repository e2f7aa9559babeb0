"""Finds the files with which a project makes agents run code: hooks, MCP servers, environment, plugins, allow rules.

Looked at are the session's directory, every directory above it, since agents read some of these files from parents, and
the main repository of a linked worktree. Entries of `.claude` that are not known to be harmless count.
What cannot be understood counts as something that runs. Text for the model alone (CLAUDE.md, AGENTS.md) does not count.
"""

import json
import os
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from betcode.config.plain_file import read_plain
from betcode.domain.agents.project_files import Program, ProjectItem
from betcode.engine.permissions.project_content import digest_bytes, digest_of, look_through
from betcode.engine.permissions.project_details import (
    cleaned,
    environment_details,
    file_details,
    setting_details,
    size_details,
)
from betcode.git.links import claimed_repositories

_LIMIT_BYTES = 1024 * 1024
_MOST_UNKNOWN = 50  # entries of one `.claude` that are listed by name
_MOST_NAMES = 6
_NAME_CHARACTERS = 60
_MOST_DETAILS = 50
_COUNTED_DETAILS = 1000
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
_SCHEDULED_OF_CLAUDE = "scheduled_tasks.json"
_SETTINGS_OF_CLAUDE = ("settings.json", "settings.local.json")
# Entries of `.claude` that are text for the model or notes of Claude Code itself. Any other entry counts.
_HARMLESS_ENTRIES = frozenset(
    {
        ".DS_Store",
        ".gitignore",
        ".gitkeep",
        "AGENTS.md",
        "CLAUDE.local.md",
        "CLAUDE.md",
        "README.md",
        "agent-memory",
        "agent-memory-local",
        "loop.md",
        "output-styles",
        "plans",
        "rules",
        "scheduled_tasks.lock",
        "worktrees",
    }
)
_KNOWN_ENTRIES = _HARMLESS_ENTRIES | {*_SETTINGS_OF_CLAUDE, *_CODE_OF_CLAUDE, _SCHEDULED_OF_CLAUDE}
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
    return tuple(
        item
        for place in _places(directory)
        for program in Program
        if program in programs
        for item in _FINDERS[program](place, frozenset(ours))
        if not any(Path(item.path).is_relative_to(each) for each in own)
    )


def _places(directory: str) -> list[Path]:
    """The directory, those above it, and the main repositories of the linked worktrees among them."""
    start = Path(os.path.realpath(directory))
    above = [start, *start.parents]
    repositories = [Path(each) for place in above for each in claimed_repositories(str(place))]
    return list(dict.fromkeys(above + repositories))


@dataclass(frozen=True, slots=True)
class _File:
    """A settings file as it was read."""

    path: Path
    settings: Mapping[str, Any] | None  # None: it cannot be read or parsed
    digest: str  # of its bytes

    def item(self, program: Program, counted: Mapping[str, Any], brings: str, *, can_be_ignored: bool = True) -> Found:
        """What it brings, if anything; `counted` are the settings that run something or let something through."""
        if self.settings is None:
            yield _item(program, self.path, _UNREADABLE, (), self.digest, can_be_ignored=can_be_ignored)
        elif brings:
            content = digest_of(counted, self.digest)
            details = setting_details(counted)
            yield _item(program, self.path, brings, details, content, can_be_ignored=can_be_ignored)


def _item(
    program: Program, path: Path, brings: str, details: Iterable[str], content: str, *, can_be_ignored: bool = True
) -> ProjectItem:
    lines = tuple(islice(details, _COUNTED_DETAILS))
    return ProjectItem(program, str(path), brings, can_be_ignored, lines[:_MOST_DETAILS], len(lines), content)


def _claude(place: Path, ours: frozenset[str]) -> Found:
    for name in _SETTINGS_OF_CLAUDE:
        for file in _read(place / ".claude" / name, json.loads):
            counted, brings = _of_claude(file.settings or {}, ours)
            yield from file.item(Program.CLAUDE, counted, brings)
    for file in _read(place / ".mcp.json", json.loads):
        servers = file.settings or {}
        brings = "" if servers.get("mcpServers") == {} else _described(servers)
        yield from file.item(Program.CLAUDE, servers, brings)
    yield from _directories(Program.CLAUDE, place / ".claude", _CODE_OF_CLAUDE)
    for file in _read(place / ".claude" / _SCHEDULED_OF_CLAUDE, json.loads):
        yield from file.item(Program.CLAUDE, file.settings or {}, "scheduled prompts, which run without a person")
    yield from _unknown(place / ".claude")


def _unknown(home: Path) -> Found:
    """The entries of `.claude` that this scan knows nothing about: a later version of Claude Code may run them."""
    try:
        with os.scandir(home) as entries:
            names = (entry.name for entry in entries if entry.name not in _KNOWN_ENTRIES)
            listed = list(islice(names, _MOST_UNKNOWN + 1))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:
        yield ProjectItem(Program.CLAUDE, str(home), "a directory that cannot be read")
        return
    if len(listed) > _MOST_UNKNOWN:
        brings = f"more than {_MOST_UNKNOWN} files of unknown use"
        yield _directory(Program.CLAUDE, home, brings, without=_KNOWN_ENTRIES)
        return
    for name in sorted(listed):
        yield from _unknown_entry(home / name)


def _unknown_entry(path: Path) -> Found:
    """A file or directory of unknown use: its content counts, as that of known ones does."""
    if path.is_dir():
        yield _directory(Program.CLAUDE, path, "a directory of unknown use")
        return
    for file in _read(path, json.loads):
        details = size_details(path) if file.settings is None else setting_details(file.settings)
        yield _item(Program.CLAUDE, path, "a file of unknown use", details, file.digest)


def _of_claude(settings: Mapping[str, Any], ours: frozenset[str]) -> tuple[Mapping[str, Any], str]:
    """The settings that count, and what they are in words."""
    counted = {key: value for key, value in settings.items() if key not in _HARMLESS and key not in ours}
    parts = [_described(counted)] if counted else []
    permissions = settings.get("permissions", {})
    if not isinstance(permissions, dict):
        return settings, _UNREADABLE
    allow = permissions.get("allow")
    if allow:
        parts.append(f"allow rules{_names(allow)}")
    others = [key for key in permissions if key not in _RESTRICTING | {"allow"} | ours]
    parts += [f"permissions.{_shown(key)}" for key in others]
    weighed = {key: permissions[key] for key in (*(["allow"] if allow else []), *others)}
    return {**counted, **({"permissions": weighed} if weighed else {})}, ", ".join(parts)


def _codex(place: Path, _: frozenset[str]) -> Found:
    home = place / ".codex"
    for file in _read(home / "config.toml", tomllib.loads):
        settings = file.settings or {}
        yield from file.item(Program.CODEX, settings, _described(settings))
    for file in _read(home / "hooks.json", json.loads):
        details = setting_details(file.settings or {})
        yield _item(Program.CODEX, file.path, "hooks", details, file.digest)
    if _has_entries(home / "rules"):
        yield _directory(Program.CODEX, home / "rules", "allow rules")


def _opencode(place: Path, _: frozenset[str]) -> Found:
    home = place / ".opencode"
    for path in (place / "opencode.json", place / "opencode.jsonc", home / "opencode.json", home / "opencode.jsonc"):
        for file in _read(path, json.loads):
            counted = {key: value for key, value in (file.settings or {}).items() if key != "$schema"}
            # One that cannot be read may have comments, and so plugins.
            has_plugins = file.settings is None or any(counted.get(key) for key in _PLUGINS_OF_OPENCODE)
            yield from file.item(Program.OPENCODE, counted, _described(counted), can_be_ignored=not has_plugins)
    for name in _PLUGINS_OF_OPENCODE:
        if _has_entries(home / name):
            yield _directory(Program.OPENCODE, home / name, "plugins", can_be_ignored=False)
    yield from _directories(Program.OPENCODE, home, _CODE_OF_OPENCODE)


def _gemini(place: Path, _: frozenset[str]) -> Found:
    home = place / ".gemini"
    for file in _read(home / "settings.json", json.loads):
        settings = file.settings or {}
        yield from file.item(Program.GEMINI, settings, _described(settings))
    for file in _read(home / ".env", _variables):
        details = environment_details(file.settings or {})
        yield _item(Program.GEMINI, file.path, "environment", details, file.digest)
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
            yield _directory(program, home / name, f"{name}, which can run commands")


def _directory(
    program: Program, path: Path, brings: str, *, can_be_ignored: bool = True, without: Collection[str] = ()
) -> ProjectItem:
    names, content = look_through(path, without)
    return _item(program, path, brings, file_details(names), content, can_be_ignored=can_be_ignored)


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
    text = cleaned(text)
    return text if len(text) <= _NAME_CHARACTERS else text[: _NAME_CHARACTERS - 1] + "…"


def _read(path: Path, parse: Callable[[str], object]) -> Iterator[_File]:
    """The file, if there is one."""
    if not os.path.lexists(path):
        return
    try:
        data = read_plain(path, _LIMIT_BYTES + 1)
    except OSError:
        yield _File(path, None, "")
        return
    try:
        settings = parse(data.decode()) if len(data) <= _LIMIT_BYTES else None
    except (ValueError, RecursionError):
        settings = None
    yield _File(path, settings if isinstance(settings, dict) else None, digest_bytes(data))


def _variables(text: str) -> dict[str, str]:
    """Of a file with one NAME=value in a line."""
    parts = (line.partition("=") for line in text.splitlines() if "=" in line and not line.lstrip().startswith("#"))
    return {name.strip(): value.strip() for name, _, value in parts}


def _has_entries(path: Path) -> bool:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
