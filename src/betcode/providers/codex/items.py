"""Translates the items of a turn: text, thinking, plans and tool calls, each started once and ended once."""

import json
import shlex
from collections.abc import Callable
from typing import Any

from betcode.domain.events.display import struct_of
from betcode.domain.values.text import shortened
from betcode.providers.codex import frames, turns
from betcode.providers.codex.event_builder import CodexEventBuilder
from betcode.providers.codex.state import OpenTool, open_tool
from betcode.providers.event_builder import uint32, uint64
from betcode.providers.stored_state import remember
from betcode.v1 import agent_pb2 as v1

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "fish"})
_SCRIPT_FLAGS = frozenset({"-c", "-lc", "-ic", "-lic"})
_MOST_KEPT = 256 * 1024  # characters of a patch that is kept until its approval is asked for
_RAW_THOUGHTS = 1000  # blocks of thoughts behind their summaries
_LONGEST_COMMAND = 300
_MOST_BLOCKS = 64


def script_of(command: str) -> str:
    """What is run: Codex shows `/bin/bash -lc 'ls | wc'`, and rules are about `ls | wc`."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in _SCRIPT_FLAGS:
        return words[2]
    return command


# ---------------------------------------------------------------- words


def on_text(news: frames.Delta, builder: CodexEventBuilder) -> None:
    _show(news, news.item_id, 0, builder, thinking=False)


def on_summary(news: frames.Delta, builder: CodexEventBuilder) -> None:
    _show(news, news.item_id, news.summary_index, builder, thinking=True)


def on_thought(news: frames.Delta, builder: CodexEventBuilder) -> None:
    _show(news, news.item_id, _RAW_THOUGHTS + news.content_index, builder, thinking=True)


def _show(news: frames.Delta, item_id: str, block: int, builder: CodexEventBuilder, *, thinking: bool) -> None:
    state = builder.state
    if news.thread_id not in ("", state.thread) or not news.delta or not item_id:
        return
    if turns.is_over(state, news.turn_id):
        return
    turns.begin(builder, news.turn_id)
    turns.resumed(state)
    block = uint32(block)
    blocks = state.unsettled.setdefault(item_id, [])
    if block not in blocks and len(blocks) < _MOST_BLOCKS:
        blocks.append(block)
    if thinking and item_id not in state.thinking:
        state.thinking.append(item_id)
    event = builder.new_event()
    said = event.thinking_delta if thinking else event.text_delta
    said.text, said.message_id, said.block = news.delta, item_id, block


def _settle(builder: CodexEventBuilder, item: frames.Item, texts: dict[int, str], *, thinking: bool) -> None:
    """The whole text of each block, whatever deltas came before it."""
    state = builder.state
    for block in state.unsettled.pop(item.id, []):
        texts.setdefault(block, "")
    if item.id in state.thinking:
        state.thinking.remove(item.id)
    for block, text in sorted(texts.items()):
        event = builder.new_event()
        said = event.thinking_delta if thinking else event.text_delta
        said.text, said.message_id, said.block, said.is_complete = text, item.id, uint32(block), True


def _settle_thoughts(builder: CodexEventBuilder, item: frames.Item) -> None:
    texts = dict(enumerate(item.summary))
    raw = [part for each in item.content if isinstance(part := frames.plain(each), str)]
    shown = builder.state.unsettled.get(item.id, [])
    if any(block >= _RAW_THOUGHTS for block in shown) or not texts:
        texts |= {_RAW_THOUGHTS + number: text for number, text in enumerate(raw)}
    _settle(builder, item, texts, thinking=True)


def _propose(builder: CodexEventBuilder, item: frames.Item) -> None:
    """The plan that a person may have carried out."""
    _settle(builder, item, {0: item.text} if item.text else {}, thinking=False)
    if item.text:
        change = builder.new_event().plan_mode
        change.active = builder.state.plan_mode
        change.plan = item.text


# ---------------------------------------------------------------- uses of tools


def tool_of(item: frames.Item) -> tuple[str, dict[str, Any]] | None:
    """The name that rules and people know a tool by, and its input; None where the item is no use of a tool."""
    read = _TOOLS.get(item.type)
    return None if read is None else read(item)


def _command(item: frames.Item) -> tuple[str, dict[str, Any]]:
    return "Bash", {"command": script_of(item.command), "cwd": item.cwd}


def _patch(item: frames.Item) -> tuple[str, dict[str, Any]]:
    """One file by its path, so that rules about it hold; of several no rule can allow all, so a person is asked."""
    if len(item.changes) != 1 or item.changes[0].kind.move_path:
        changes = [
            {"file_path": each.path, "kind": each.kind.type, "diff": each.diff}
            | ({"moved_to": each.kind.move_path} if each.kind.move_path else {})
            for each in item.changes
        ]
        return "Edit", {"changes": changes}
    change = item.changes[0]
    if change.kind.type == "add":
        return "Write", {"file_path": change.path, "content": change.diff}
    return "Edit", {"file_path": change.path, "kind": change.kind.type, "diff": change.diff}


def _own(item: frames.Item) -> tuple[str, dict[str, Any]]:
    arguments = frames.plain(item.arguments)
    name = f"mcp__{item.server}__{item.tool}" if item.type == "mcpToolCall" else item.tool
    return name or item.type, arguments if isinstance(arguments, dict) else {"arguments": arguments}


def _subagent(item: frames.Item) -> tuple[str, dict[str, Any]]:
    return "Task", {"tool": item.tool, "prompt": item.prompt or ""}


_TOOLS: dict[str, Callable[[frames.Item], tuple[str, dict[str, Any]]]] = {
    "commandExecution": _command,
    "fileChange": _patch,
    "mcpToolCall": _own,
    "dynamicToolCall": _own,
    "collabAgentToolCall": _subagent,
    "webSearch": lambda item: ("WebSearch", {"query": item.query}),
    "imageView": lambda item: ("Read", {"file_path": item.path}),
    "imageGeneration": lambda _: ("ImageGeneration", {}),
    "sleep": lambda item: ("Sleep", {"duration_ms": item.duration_ms or 0}),
}


def on_started(news: frames.ItemNews, builder: CodexEventBuilder) -> None:
    item, state = news.item, builder.state
    is_own = news.thread_id in ("", state.thread)
    if is_own and turns.is_over(state, news.turn_id):
        return
    if item.type == "contextCompaction" and is_own:
        turns.begin(builder, news.turn_id)
        state.before_tokens = state.context_tokens
        builder.turn_to(v1.COMPACTING)
        return
    if item.type == "userMessage" or (not is_own and news.thread_id not in state.parents):
        return
    found = tool_of(item)
    if is_own:
        turns.begin(builder, news.turn_id)
        turns.resumed(state)
    if found is not None:
        start(builder, item.id, *found, cwd=item.cwd, parent="" if is_own else state.parents[news.thread_id])
        for thread in item.receiver_thread_ids:
            state.parents[thread] = item.id
            if len(state.parents) > _MOST_BLOCKS:
                del state.parents[next(iter(state.parents))]


def start(
    builder: CodexEventBuilder, tool_id: str, name: str, own_input: dict[str, Any], *, cwd: str = "", parent: str = ""
) -> None:
    state = builder.state
    if not tool_id or tool_id in state.tools or tool_id in state.ended:
        return
    event = builder.new_event(parent).tool_call_start
    event.tool_id = tool_id
    event.tool_name = name
    event.input_json = json.dumps(own_input, ensure_ascii=False)
    event.input.CopyFrom(struct_of(own_input))
    tool = OpenTool(name, builder.mono_ns, cwd, parent)
    if name in ("Edit", "Write"):
        tool.input = event.input_json if len(event.input_json) <= _MOST_KEPT else _without_texts(own_input)
    elif name == "Bash":
        tool.input = shortened(str(own_input.get("command", "")), _LONGEST_COMMAND)
    open_tool(state, tool_id, tool)
    if not parent and not state.requests:
        builder.status(v1.EXECUTING_TOOL, name)


def _without_texts(patch: dict[str, Any]) -> str:
    """A patch that is too long to be kept: which files it changes, without how."""
    kept = {name: value for name, value in patch.items() if name not in ("content", "diff", "changes")}
    if "changes" in patch:
        kept["changes"] = [{name: value for name, value in each.items() if name != "diff"} for each in patch["changes"]]
    return json.dumps({**kept, "note": "the patch is too long to be shown here"}, ensure_ascii=False)


def on_completed(news: frames.ItemNews, builder: CodexEventBuilder) -> None:
    item, state = news.item, builder.state
    if news.thread_id not in ("", state.thread):
        if news.thread_id in state.parents and item.id in state.tools:
            finish(builder, item)
        return
    if item.id in state.background:
        del state.background[item.id]
        return
    if turns.is_over(state, news.turn_id):
        return
    match item.type:
        case "agentMessage":
            turns.begin(builder, news.turn_id)
            _settle(builder, item, {0: item.text} if item.text else {}, thinking=False)
        case "reasoning":
            turns.begin(builder, news.turn_id)
            _settle_thoughts(builder, item)
        case "plan":
            turns.begin(builder, news.turn_id)
            _propose(builder, item)
        case "contextCompaction":
            _compacted(builder)
        case _ if (found := tool_of(item)) is not None and item.id not in state.ended:
            turns.begin(builder, news.turn_id)
            start(builder, item.id, *found, cwd=item.cwd)
            finish(builder, item)
        case _:
            pass


def _compacted(builder: CodexEventBuilder) -> None:
    state = builder.state
    boundary = builder.new_event().compaction
    boundary.trigger = "manual" if state.compacting else "auto"
    boundary.tokens_before = uint64(state.before_tokens)
    boundary.tokens_after = uint64(state.context_tokens)
    state.compacted = state.boundary = True
    if state.turn and not state.compacting:
        builder.turn_to(v1.THINKING)


def finish(builder: CodexEventBuilder, item: frames.Item, output: str | None = None) -> None:
    state = builder.state
    tool = state.tools.pop(item.id, None)
    if tool is None:
        return
    remember(state.ended, item.id)
    for request_id in [name for name, each in state.requests.items() if each.tool_use_id == item.id]:
        turns.withdraw(builder, request_id)  # nobody answered, and Codex went on without
    result = builder.new_event(tool.parent).tool_call_result
    result.tool_id = item.id
    result.output = _output(item) if output is None else output
    result.is_error = item.status in ("failed", "declined") or item.success is False
    spent_ms = (builder.mono_ns - tool.began_ns) / 1_000_000
    result.duration_ms = uint32(item.duration_ms if item.duration_ms is not None else spent_ms)
    if item.status == "declined":
        result.denied_by = "answer" if item.id in state.declined else "agent"
    if item.id in state.declined:
        state.declined.remove(item.id)
    if not tool.parent and state.turn and not state.requests and not state.tools:
        builder.turn_to(v1.THINKING)


def _output(item: frames.Item) -> str:
    match item.type:
        case "commandExecution":
            said = item.aggregated_output or ""
            failed = f"exit code {item.exit_code}" if item.exit_code else item.status
            return said if said or item.status == "completed" else failed
        case "fileChange":
            return "" if item.status == "completed" else item.status
        case "mcpToolCall":
            return item.error.message if item.error is not None else _mcp_text(item)
        case "dynamicToolCall":
            return "\n".join(part.text or f"[{part.type}]" for part in item.content_items or [])
        case _:
            return ""


def _mcp_text(item: frames.Item) -> str:
    result = frames.read(item.result, frames.McpResult)
    parts = [frames.read(part, frames.TextPart) for part in (result.content if result is not None else [])]
    return "\n".join(part.text or f"[{part.type}]" for part in parts if part is not None)
