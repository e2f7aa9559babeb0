"""What a tool's use is called and given, so that rules written for one agent hold for all.

The protocol says of a use what kind it is and how it is shown to a person; what the tool is really given is the agent's
own matter. Rules decide about commands and paths, so that these are taken from where they are certain. Where they are
not, the use keeps the agent's own name, no rule allows it, and a person is asked.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from betcode.domain.text import valid
from betcode.providers.acp.profile import Profile
from betcode.wire.acp.decoding import plain
from betcode.wire.acp.extensions import KEY
from betcode.wire.acp.frames import ToolContent

_COMMAND = ("command", "cmd", "script")
_DIRECTORY = ("cwd", "workdir", "directory", "dir_path")
_PATH = ("file_path", "filePath", "path", "absolute_path", "abs_path", "filepath")
_EDITED = frozenset({"old_string", "oldString", "old_str", "edits", "patch", "diff"})
_CONTENT = ("content", "contents", "new_content")
_SHELLS = frozenset({"exec_command", "bash", "shell", "run_shell_command", "terminal", "execute"})
_RUNNING = frozenset({"execute", "read", "search"})  # what commands are shown as
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Known:
    """All that was said of one use so far."""

    kind: str = ""
    title: str = ""
    own_name: str = ""
    input: str = ""  # JSON text; empty: not said
    paths: Sequence[str] = ()  # where it works, says the agent
    diffs: Sequence[ToolContent] = ()


@dataclass(frozen=True, slots=True)
class Named:
    name: str
    input_json: str
    directory: str = ""


def named(use: Known, profile: Profile) -> Named:
    given = plain(use.input.encode()) if use.input else None
    own = given if isinstance(given, dict) else {}
    directory = _text(own, _DIRECTORY)
    command = _command(own, use, profile)
    if command:
        exact = own.get("command") == command
        return Named("Bash", use.input if exact else _json({**own, "command": command}), directory)
    if use.kind == "execute" or use.own_name in _SHELLS:
        return _own(use, directory)  # what would be run is not known
    match use.kind:
        case "edit":
            return _edit(use, own, directory)
        case "read":
            path = _one_path(use, own)
            return Named("Read", _with_path(use, own, path), directory) if path else _own(use, directory)
        case "search" if isinstance(own.get("pattern"), str):
            return Named("Grep", use.input, directory)
        case "fetch" if isinstance(own.get("url"), str):
            return Named("WebFetch", use.input, directory)
        case _:
            return _own(use, directory)


def own_name(meta: Raw, name: str | None, profile: Profile) -> tuple[str, bool]:
    """The agent's own name of a tool, and whether rules know it under that."""
    said = plain(meta)
    if isinstance(said, dict):
        ours = said.get(KEY)
        if isinstance(ours, dict) and isinstance(ours.get("toolName"), str):
            return ours["toolName"][:_LONGEST_NAME], True
        claude = said.get("claudeCode")
        if profile.own_tool_names and isinstance(claude, dict) and isinstance(claude.get("toolName"), str):
            return claude["toolName"][:_LONGEST_NAME], True
    return (name or "")[:_LONGEST_NAME], False


def _command(own: dict[str, Any], use: Known, profile: Profile) -> str:
    if use.kind not in _RUNNING and use.own_name not in _SHELLS:
        return ""  # of an editor, say, which calls so what it does
    for name in _COMMAND:
        match own.get(name):
            case str() as command if command:
                return command
            case [*words] if words and all(isinstance(word, str) for word in words):
                return _joined(words)
            case _:
                pass
    return use.title if profile.title_is_command and use.kind == "execute" and not use.input else ""


def _joined(words: list[str]) -> str:
    if len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def _edit(use: Known, own: dict[str, Any], directory: str) -> Named:
    path = _one_path(use, own)
    if not path:
        return _own(use, directory)
    if _text(own, _PATH):
        writes = any(isinstance(own.get(name), str) for name in _CONTENT) and not _EDITED.intersection(own)
        return Named("Write" if writes else "Edit", _with_path(use, own, path), directory)
    shown = use.diffs[0] if use.diffs else None
    if shown is None:
        return Named("Edit", _json({**own, "file_path": path}), directory)
    if shown.old_text is None:
        return Named("Write", _json({"file_path": path, "content": shown.new_text or ""}), directory)
    edit = {"file_path": path, "old_string": shown.old_text, "new_string": shown.new_text or ""}
    return Named("Edit", _json(edit), directory)


def _one_path(use: Known, own: dict[str, Any]) -> str:
    """The file that a use is about; empty where that is not certain, as where there are several."""
    paths = {_text(own, _PATH), *(each.path or "" for each in use.diffs)} - {""}
    paths = paths or set(use.paths)
    return paths.pop() if len(paths) == 1 else ""


def _with_path(use: Known, own: dict[str, Any], path: str) -> str:
    return use.input if own.get("file_path") == path else _json({**own, "file_path": path})


def _own(use: Known, directory: str) -> Named:
    shown = use.input or _json({"title": use.title} if use.title else {})
    return Named(use.own_name or use.kind or "tool", shown, directory)


def _text(own: dict[str, Any], names: Sequence[str]) -> str:
    return next((own[name] for name in names if isinstance(own.get(name), str) and own[name]), "")


def _json(value: dict[str, Any]) -> str:
    return valid(json.dumps(value, ensure_ascii=False))
