"""Maps the gateway's tools to ACP, under the names that rules use. Pure."""

import posixpath
from typing import Any

from acp.schema import (
    ContentToolCallContent,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    ToolKind,
)

from betcode.wire.acp.extensions import KEY

Json = dict[str, Any]
OUTPUT_LIMIT = 200_000  # characters of a result; the beginning and the end are preserved
PARTIAL_LIMIT = 4_000  # of the output of a running command, from its end
_TITLE_LIMIT = 200
# The gateway's name: the rules' name, and its kind in the protocol.
_KNOWN: dict[str, tuple[str, ToolKind]] = {
    "exec": ("Bash", "execute"),
    "bash": ("Bash", "execute"),
    "read": ("Read", "read"),
    "write": ("Write", "edit"),
    "edit": ("Edit", "edit"),
    "grep": ("Grep", "search"),
    "web_fetch": ("WebFetch", "fetch"),
    "web_search": ("WebSearch", "fetch"),
}
_ON_A_FILE = ("Read", "Write", "Edit")


def started(call_id: str, name: str, arguments: object, cwd: str) -> ToolCallStart:
    tool, kind = _KNOWN.get(name, (name, "other"))
    raw = _input(tool, arguments, cwd)
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=_title(name, raw),
        kind=kind,
        status="in_progress",
        raw_input=raw,
        field_meta=_named(tool),
    )


def progressed(call_id: str, result: object) -> ToolCallProgress | None:
    """Return the end of the output of a running command; None: nothing."""
    text = _text(result)
    if not text:
        return None
    shown = text if len(text) <= PARTIAL_LIMIT else f"…{text[-PARTIAL_LIMIT:]}"
    return ToolCallProgress(
        session_update="tool_call_update", tool_call_id=call_id, status="in_progress", content=_content(shown)
    )


def ended(call_id: str, result: object, *, is_error: bool) -> ToolCallProgress:
    """Report the end of a tool; a command with an exit code other than 0 has failed, though the gateway reports no
    error.
    """
    details = result.get("details") if isinstance(result, dict) else None
    details = details if isinstance(details, dict) else {}
    exit_code = details.get("exitCode")
    failed = is_error or (isinstance(exit_code, int) and exit_code != 0)
    kept = {name: details[name] for name in ("exitCode", "durationMs", "cwd") if details.get(name) is not None}
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="failed" if failed else "completed",
        content=_content(_cut(_text(result))),
        raw_output=kept or None,
    )


def to_be_allowed(call_id: str, command: str, cwd: str) -> ToolCallUpdate:
    raw = {"command": command, "cwd": cwd} if cwd else {"command": command}
    return ToolCallUpdate(
        tool_call_id=call_id,
        title=_title("exec", raw),
        kind="execute",
        status="pending",
        raw_input=raw,
        field_meta=_named("Bash"),
    )


def _named(tool: str) -> Json:
    return {KEY: {"toolName": tool}}


def _input(tool: str, arguments: object, cwd: str) -> Json:
    raw: Json = dict(arguments) if isinstance(arguments, dict) else {}
    if tool in _ON_A_FILE and isinstance(raw.get("path"), str):
        raw["file_path"] = posixpath.join(cwd, raw.pop("path"))
    return raw


def _title(name: str, raw: Json) -> str:
    about = raw.get("command") or raw.get("file_path") or ""
    title = str(about) if name in ("exec", "bash") and about else f"{name} {about}".strip()
    return title if len(title) <= _TITLE_LIMIT else f"{title[: _TITLE_LIMIT - 1]}…"


def _text(result: object) -> str:
    content = result.get("content") if isinstance(result, dict) else None
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _cut(text: str) -> str:
    if len(text) <= OUTPUT_LIMIT:
        return text
    half = OUTPUT_LIMIT // 2
    return f"{text[:half]}\n… {len(text) - OUTPUT_LIMIT} characters omitted …\n{text[-half:]}"


def _content(text: str) -> list[Any]:
    block = TextContentBlock(type="text", text=text)
    return [ContentToolCallContent(type="content", content=block)] if text else []
