"""Maps the agent's tools to the names and inputs that rules use, so that rules apply to all agents.

The protocol gives a call's kind and how it is shown to a person; the real input is up to the agent. Rules decide about
commands and paths, so these are taken only from reliable fields. Otherwise the call gets a name that no rule allows, or
an unknown command, and a person is asked. An agent's own name for a tool never makes the call seem more harmless than
its other fields do.
"""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from betcode.domain.values.text import valid
from betcode.providers.acp.profile import Profile
from betcode.wire.acp.decoder import plain
from betcode.wire.acp.extensions import KEY
from betcode.wire.acp.frames import ToolContent

_COMMAND = ("command", "cmd", "script")
_ARGUMENTS = ("args", "arguments", "argv")
_DIRECTORY = ("cwd", "workdir", "directory", "dir_path")
_PATH = ("file_path", "filePath", "path", "absolute_path", "abs_path", "filepath")
_EDITED = frozenset({"old_string", "oldString", "old_str", "edits", "patch", "diff"})
_CONTENT = ("content", "contents", "new_content")
_SHELLS = frozenset({"exec_command", "bash", "shell", "run_shell_command", "terminal", "execute"})
_RUNNING = frozenset({"execute", "read", "search"})  # kinds that agents give to commands
_WORD = re.compile(r"[a-z_]{1,30}")  # the subcommand of an editing tool, such as `str_replace`
_KINDS = frozenset({"delete", "edit", "execute", "fetch", "move", "other", "read", "search", "switch_mode", "think"})
_READING = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead", "TodoWrite", "WebFetch", "WebSearch"})
_EDITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_RUN = frozenset({"Bash", "BashOutput", "KillShell", "PowerShell"})
_RULED = _READING | _EDITING | _RUN | {"Agent", "AskUserQuestion", "ExitPlanMode", "Skill", "SlashCommand", "Task"}
_LONGEST_NAME = 100
LONGEST_TITLE = 2000  # longer titles are cut


@dataclass(frozen=True, slots=True)
class KnownTool:
    """All fields of one tool call that the agent has sent so far."""

    kind: str = ""
    title: str = ""
    own_name: str = ""
    input: str = ""  # JSON text; empty: not sent
    paths: Sequence[str] = ()  # the files it affects, according to the agent
    diffs: Sequence[ToolContent] = ()


@dataclass(frozen=True, slots=True)
class NamedTool:
    name: str
    input_json: str
    directory: str = ""


def named(use: KnownTool, profile: Profile) -> NamedTool:
    given = plain(use.input.encode()) if use.input else None
    own = given if isinstance(given, dict) else {}
    directory = _text(own, _DIRECTORY)
    command = _command(own, use, profile)
    if command:
        exact = own.get("command") == command
        return NamedTool("Bash", use.input if exact else _json({**own, "command": command}), directory)
    if command is None or use.kind == "execute" or use.own_name in _SHELLS:
        return _unclear(use, given, directory)
    match use.kind:
        case "edit":
            return _edit(use, own, directory)
        case "read":
            path = _one_path(use, own)
            return NamedTool("Read", _with_path(use, own, path), directory) if path else _own(use, directory)
        case "search" if isinstance(own.get("pattern"), str):
            return _search(use, own, directory)
        case "fetch" if isinstance(own.get("url"), str):
            return NamedTool("WebFetch", use.input, directory)
        case _:
            return _own(use, directory)


def own_name(meta: Raw, name: str | None, profile: Profile) -> tuple[str, bool]:
    """Return the agent's own name of a tool, and whether rules use that name."""
    fields = plain(meta)
    if isinstance(fields, dict):
        ours = fields.get(KEY)
        if isinstance(ours, dict) and isinstance(ours.get("toolName"), str):
            return ours["toolName"][:_LONGEST_NAME], True
        claude = fields.get("claudeCode")
        if profile.own_tool_names and isinstance(claude, dict) and isinstance(claude.get("toolName"), str):
            return claude["toolName"][:_LONGEST_NAME], True
    return (name or "")[:_LONGEST_NAME], False


def contradicts(name: str, kind: str, own_input: str) -> bool:
    """Whether the kind or the input of a call contradicts its tool name."""
    if name not in _READING | _EDITING:
        return False
    given = plain(own_input.encode()) if own_input else None
    runs = isinstance(given, dict) and any(_is_run(given.get(key)) for key in _COMMAND)
    changes = kind in ("edit", "delete", "move") and name in _READING
    return runs or changes or kind == "execute"


def _is_run(value: object) -> bool:
    """Whether the value is a shell command, and not the subcommand of an editing tool."""
    return bool(value) and not (isinstance(value, str) and _WORD.fullmatch(value))


def _command(own: dict[str, Any], use: KnownTool, profile: Profile) -> str | None:
    """Return the command that the call runs. Empty: none, or not given. None: there is one, but it is ambiguous."""
    given = [own[name] for name in _COMMAND if own.get(name)]
    if use.kind not in _RUNNING and use.own_name not in _SHELLS:
        return None if use.kind in ("edit", "fetch") and any(map(_is_run, given)) else ""
    if not given:
        is_shown = profile.title_is_command and use.kind == "execute" and not use.input
        return use.title if is_shown and len(use.title) < LONGEST_TITLE else ""
    more = next((own[name] for name in _ARGUMENTS if own.get(name)), None)
    found = {_one_command(each, more) for each in given}
    return found.pop() if len(found) == 1 else None


def _one_command(command: object, more: object) -> str | None:
    if isinstance(command, str) and more is None:
        return command
    words = [command] if isinstance(command, str) and not any(map(str.isspace, command)) else command
    if not isinstance(words, list) or not isinstance(more, list | None):
        return None
    words = [*words, *(more or ())]
    return _joined(words) if all(isinstance(word, str) for word in words) else None


def _joined(words: list[str]) -> str:
    if len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def _search(use: KnownTool, own: dict[str, Any], directory: str) -> NamedTool:
    """Name the searched path `path`, as rules expect. Without one, the agent searches the session's directory."""
    paths = _texts(own, (*_DIRECTORY, *_PATH))
    if len(paths) > 1:
        return _own(use, directory)
    return NamedTool(
        "Grep", _json({**own, "path": paths.pop()}) if paths and "path" not in own else use.input, directory
    )


def _edit(use: KnownTool, own: dict[str, Any], directory: str) -> NamedTool:
    path = _one_path(use, own)
    if not path:
        return _own(use, directory)
    if _text(own, _PATH):
        writes = any(isinstance(own.get(name), str) for name in _CONTENT) and not _EDITED.intersection(own)
        return NamedTool("Write" if writes else "Edit", _with_path(use, own, path), directory)
    shown = use.diffs[0] if use.diffs else None
    if shown is None:
        return NamedTool("Edit", _json({**own, "file_path": path}), directory)
    if shown.old_text is None:
        return NamedTool("Write", _json({"file_path": path, "content": shown.new_text or ""}), directory)
    edit = {"file_path": path, "old_string": shown.old_text, "new_string": shown.new_text or ""}
    return NamedTool("Edit", _json(edit), directory)


def _one_path(use: KnownTool, own: dict[str, Any]) -> str:
    """Return the file that the call reads or changes; empty if it is unknown or there are several."""
    paths = _texts(own, _PATH) | {each.path for each in use.diffs if each.path}
    paths = paths or set(use.paths)
    return paths.pop() if len(paths) == 1 else ""


def _with_path(use: KnownTool, own: dict[str, Any], path: str) -> str:
    return use.input if own.get("file_path") == path else _json({**own, "file_path": path})


def _own(use: KnownTool, directory: str) -> NamedTool:
    """Use the agent's own tool name, unless rules use that name for a tool that this one may not be."""
    shown = use.input or _json({"title": use.title} if use.title else {})
    kind = use.kind if use.kind in _KINDS else "tool"
    return NamedTool(kind if use.own_name in _RULED else use.own_name or kind, shown, directory)


def _unclear(use: KnownTool, given: object, directory: str) -> NamedTool:
    """Return an unknown command: a rule for all commands covers it, and no rule for one command allows it."""
    shown = {"title": use.title} if use.title else {}
    return NamedTool("Bash", _json(shown if given is None else {**shown, "input": given}), directory)


def _text(own: dict[str, Any], names: Sequence[str]) -> str:
    return next((own[name] for name in names if isinstance(own.get(name), str) and own[name]), "")


def _texts(own: dict[str, Any], names: Sequence[str]) -> set[str]:
    return {own[name] for name in names if isinstance(own.get(name), str) and own[name]}


def _json(value: dict[str, Any]) -> str:
    return valid(json.dumps(value, ensure_ascii=False))
