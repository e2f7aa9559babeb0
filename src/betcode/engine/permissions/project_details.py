"""Describes what a project's settings would run, one line for each command, server, variable and rule.

The texts come from the project: control characters are replaced, long texts are shortened, secrets are redacted.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from betcode.domain.values.secrets import is_secret_name, redacted, redacted_json

_LONGEST = 200
_LONGEST_END = 60  # a long text keeps its end, which may be the part that matters
_LONGEST_VALUE = 80
_QUIET_KEYS = frozenset({"type", "timeout", "enabled"})  # of one hook or server: they run nothing
_SERVER_KEYS = frozenset({"mcpServers", "mcp_servers", "mcp"})
_PLUGIN_KEYS = frozenset({"plugin", "plugins", "enabledPlugins"})


def setting_details(settings: Mapping[str, Any]) -> Iterator[str]:
    """What runs comes first: hooks, MCP servers, other settings, plugins; then the environment and allow rules."""
    yield from _of_hooks(settings.get("hooks"))
    for key in settings:
        if key in _SERVER_KEYS:
            yield from _named("MCP server", settings[key])
    for key, value in settings.items():
        if key not in _SERVER_KEYS | _PLUGIN_KEYS | {"hooks", "env", "permissions"}:
            yield _line(f"setting {key}", _runs(value))
    for key in settings:
        if key in _PLUGIN_KEYS:
            yield from _named("plugin", settings[key])
    env = settings.get("env")
    yield from environment_details(env) if isinstance(env, dict) else _present("environment", env)
    permissions = settings.get("permissions")
    for key, value in permissions.items() if isinstance(permissions, dict) else ():
        if key == "allow" and isinstance(value, list):
            yield from (_line("allow rule", _text(rule)) for rule in value)
        else:
            yield _line(f"setting permissions.{key}", _runs(value))


def environment_details(variables: Mapping[str, Any]) -> Iterator[str]:
    for name, value in variables.items():
        shown = "[redacted]" if is_secret_name(name) else _cut(redacted(_text(value)), _LONGEST_VALUE)
        yield cleaned(f"environment {name}={shown}")


def file_details(names: Iterable[str]) -> Iterator[str]:
    return (cleaned(f"file {name}") for name in names)


def size_details(path: Path) -> Iterator[str]:
    """Of a file whose content is not understood."""
    with suppress(OSError):
        yield f"{path.stat().st_size} bytes"


def cleaned(text: str) -> str:
    """One line of at most `_LONGEST` printable characters."""
    flat = " ".join(text.replace("\r\n", "\n").strip().replace("\n", " ␊ ").split())
    return _cut("".join(each if each.isprintable() else "?" for each in flat), _LONGEST)


def _of_hooks(events: object) -> Iterator[str]:
    if not isinstance(events, dict):
        yield from _present("hooks", events)
        return
    for event, groups in events.items():
        for group in groups if isinstance(groups, list) else [groups]:
            if isinstance(group, dict) and isinstance(group.get("hooks"), list):
                matcher = group.get("matcher")
                name = f"hook {event} ({_text(matcher)})" if matcher else f"hook {event}"
                yield from (_line(name, _runs(hook)) for hook in group["hooks"])
            else:
                yield _line(f"hook {event}", _runs(group))


def _named(what: str, entries: object) -> Iterator[str]:
    if isinstance(entries, dict):
        yield from (_line(f"{what} {name}", _runs(entry)) for name, entry in entries.items())
    elif isinstance(entries, list):
        yield from (_line(what, _runs(entry)) for entry in entries)
    else:
        yield from _present(what, entries)


def _present(what: str, value: object) -> Iterator[str]:
    """A value of an unexpected type."""
    if value is not None:
        yield _line(what, _text(value))


def _runs(entry: object) -> str:
    """The command line or the URL of a hook or server first, then its other fields."""
    if not isinstance(entry, dict):
        return _text(entry)
    rest = {key: value for key, value in entry.items() if key not in _QUIET_KEYS}
    parts = [_command(rest.pop("command", None), rest.pop("args", None))]
    parts += [_text(rest.pop(key)) for key in ("url", "httpUrl") if key in rest]
    if rest:
        parts.append(_text(rest))
    return " ".join(part for part in parts if part)


def _command(command: object, arguments: object) -> str:
    words = [shlex.join(map(str, each)) if isinstance(each, list) else _text(each) for each in (command, arguments)]
    return " ".join(word for word, each in zip(words, (command, arguments), strict=True) if each)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return redacted_json(json.dumps(value, ensure_ascii=False, default=str))


def _line(name: str, value: str) -> str:
    return cleaned(f"{name}: {redacted(value)}")


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    end = min(_LONGEST_END, longest // 3)
    return f"{text[: longest - end - 3]} … {text[-end:]}"
