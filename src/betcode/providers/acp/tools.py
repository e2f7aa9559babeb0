"""Translates tool calls: each starts once, when its input is known, and ends once, at the latest with its turn."""

from typing import Any

from msgspec import Raw

from betcode.domain.events.display import struct_of
from betcode.domain.values.text import shortened, valid
from betcode.providers.acp import api_pauses, text
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.state import OpenTool, open_tool
from betcode.providers.acp.tool_names import LONGEST_TITLE, KnownTool, NamedTool, contradicts, named, own_name
from betcode.providers.event_builder import uint32
from betcode.providers.stored_state import remember
from betcode.v1 import agent_pb2 as v1
from betcode.wire.acp.decoder import plain
from betcode.wire.acp.frames import ToolContent, ToolUse, Update

_LONGEST_INPUT = 16 * 1024  # stored in the state, because a permission request may not repeat the input
_LONGEST_OUTPUT = 8 * 1024  # stored in the state until the call ends
_MOST_DIRECTORIES = 1024
_ENDED = frozenset({"completed", "failed"})
_OUTPUTS = ("output", "stdout", "text", "result", "error", "message")
_MOST_CODE = 2**31
_EXIT_CODES = ("exitCode", "exit_code", "exit")
INTERRUPTED = "interrupted"


def on_call(update: Update, builder: AcpEventBuilder) -> None:
    """Translate the announcement, the progress or the end of a tool call."""
    state, tool_id = builder.state, update.tool_call_id
    if not tool_id or tool_id in state.ended:
        return
    api_pauses.resumed(builder)
    tool = state.tools.get(tool_id)
    is_new = tool is None
    if tool is None:
        tool = OpenTool(builder.mono_ns)
        open_tool(state, tool_id, tool)
        text.settle(builder)
    content = update.content if isinstance(update.content, list) else None
    _learn(tool, update, builder)
    if not tool.name:
        has_input = not is_new and bytes(update.raw_input) not in (b"", b"{}")
        is_pending = (update.status or "pending") == "pending"
        if not is_pending or has_input or len(tool.input) > _LONGEST_INPUT:
            start(builder, tool_id, tool, content)
    output = _output(content, update.raw_output, update.meta)
    if output:
        tool.output = shortened(output, _LONGEST_OUTPUT)
    code = _exit_code(update.raw_output, update.meta)
    tool.exit_code = tool.exit_code if code is None else code
    if update.status in _ENDED:
        finish(builder, tool_id, output or tool.output, is_error=update.status == "failed" or bool(tool.exit_code))


def ask_about(use: ToolUse, builder: AcpEventBuilder) -> tuple[str, NamedTool]:
    """Start the call that a permission request is about, if it has not started. Return its id, name and input."""
    state = builder.state
    tool_id = use.tool_call_id or builder.unique("tool")
    tool = state.tools.get(tool_id)
    if tool is None:
        tool = OpenTool(builder.mono_ns)
        open_tool(state, tool_id, tool)
        text.settle(builder)
    _learn(tool, use, builder)
    asked = _named(tool, use.content, builder)
    if not tool.name:
        start(builder, tool_id, tool, use.content)
    return tool_id, asked


def _learn(tool: OpenTool, update: Update | ToolUse, builder: AcpEventBuilder) -> None:
    """Copy the fields of an update. A missing field has not changed."""
    tool.kind = update.kind or tool.kind
    tool.title = shortened(valid(update.title), LONGEST_TITLE) if update.title else tool.title
    name, is_known = own_name(update.meta, update.name, builder.profile)
    if name:
        tool.own_name, tool.has_known_name = name, is_known
    if bytes(update.raw_input) not in (b"", b"null"):
        tool.input = bytes(update.raw_input).decode(errors="replace")
    if update.locations:
        tool.paths = [each.path for each in update.locations[:2]]  # two suffice to see that there are several


def _named(tool: OpenTool, content: list[ToolContent] | None, builder: AcpEventBuilder) -> NamedTool:
    if tool.has_known_name and not contradicts(tool.own_name, tool.kind, tool.input):
        return NamedTool(tool.own_name, tool.input or "{}", _directory(tool.input))
    diffs = [each for each in content or () if each.type == "diff"]
    return named(KnownTool(tool.kind, tool.title, tool.own_name, tool.input, tool.paths, diffs), builder.profile)


def _directory(own_input: str) -> str:
    given = plain(own_input.encode()) if own_input else None
    found = given.get("cwd") if isinstance(given, dict) else None
    return found if isinstance(found, str) else ""


def start(builder: AcpEventBuilder, tool_id: str, tool: OpenTool, content: list[ToolContent] | None = None) -> None:
    state = builder.state
    use = _named(tool, content, builder)
    event = builder.new_event().tool_call_start
    event.tool_id = tool_id
    event.tool_name = tool.name = use.name
    event.input_json = use.input_json
    event.input.CopyFrom(struct_of(use.input_json))
    fields = event.input.fields
    described = fields["description"].string_value if "description" in fields else ""
    event.description = shortened(described or tool.title, LONGEST_TITLE)
    if len(tool.input) > _LONGEST_INPUT:
        tool.input = ""  # a permission request that does not repeat the input is then one with unknown input
    if use.directory:
        state.directories[tool_id] = use.directory
        if len(state.directories) > _MOST_DIRECTORIES:
            del state.directories[next(iter(state.directories))]
    if state.turn and not state.requests:
        builder.status(v1.EXECUTING_TOOL, use.name)


def finish(builder: AcpEventBuilder, tool_id: str, output: str, *, is_error: bool) -> None:
    state = builder.state
    tool = state.tools.pop(tool_id)
    state.directories.pop(tool_id, None)
    if not tool.name:
        start(builder, tool_id, tool)
    remember(state.ended, tool_id)
    for request_id in [name for name, request in state.requests.items() if request.tool_id == tool_id]:
        withdraw(builder, request_id)  # the agent continued without an answer
    result = builder.new_event().tool_call_result
    result.tool_id = tool_id
    result.output = output
    result.is_error = is_error
    result.duration_ms = uint32((builder.mono_ns - tool.began_ns) / 1_000_000)
    if tool.denied and is_error:
        result.denied_by = "answer"
    if state.turn and not state.requests and not state.tools:
        builder.turn_to(v1.THINKING)


def close_all(builder: AcpEventBuilder) -> None:
    """End all open calls, because some agents do not report the end of cancelled or denied calls."""
    for tool_id, tool in list(builder.state.tools.items()):
        del builder.state.tools[tool_id]
        builder.state.directories.pop(tool_id, None)
        if not tool.name:
            start(builder, tool_id, tool)
        remember(builder.state.ended, tool_id)
        result = builder.new_event().tool_call_result
        result.tool_id = tool_id
        result.output = tool.output or INTERRUPTED
        result.is_error = True
        result.denied_by = "answer" if tool.denied else ""


def withdraw(builder: AcpEventBuilder, request_id: str) -> None:
    """Close a request that the agent no longer waits for."""
    if builder.state.requests.pop(request_id, None) is not None:
        resolved = builder.new_event().permission_resolved
        resolved.request_id = request_id
        resolved.resolution = "withdrawn"


# ---------------------------------------------------------------- results


def _output(content: list[ToolContent] | None, raw: Raw, meta: Raw) -> str:
    """Return the tool's output. Raw output has priority over the content for display."""
    given = plain(raw)
    if isinstance(given, str) and given:
        return valid(given)
    shown = [_shown(each) for each in content or ()]
    if text_shown := "\n".join(each for each in shown if each):
        return text_shown
    streamed = _at(meta, "terminal_output_delta", "data") or _at(meta, "terminal_output", "data")
    if isinstance(streamed, str) and streamed:
        return valid(streamed)
    if isinstance(given, dict):
        found = next((given[name] for name in _OUTPUTS if isinstance(given.get(name), str) and given[name]), "")
        return valid(found)
    return ""


def _shown(content: ToolContent) -> str:
    if content.type == "diff":
        return f"[diff of {content.path}]"
    return text.spoken(content.content) if content.type == "content" else ""


def _exit_code(raw: Raw, meta: Raw) -> int | None:
    """Return a command's exit code, because an agent may report a failed command as completed."""
    given = plain(raw) if bytes(raw)[:1] == b"{" else None
    objects: list[Any] = [given]
    if isinstance(given, dict):
        objects += [given.get("metadata"), given.get("details")]
    objects.append(_at(meta, "terminal_exit"))
    for each in objects:
        if isinstance(each, dict):
            for name in _EXIT_CODES:
                if isinstance(each.get(name), int) and not isinstance(each[name], bool):
                    return max(min(int(each[name]), _MOST_CODE), -_MOST_CODE)
    return None


def _at(meta: Raw, *names: str) -> Any:
    value: Any = plain(meta) if bytes(meta) else None
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
