"""Translates approvals and questions of Codex, and refuses requests that nobody here can answer."""

import json
import re
from collections.abc import Callable
from typing import Any

from betcode.domain.events.display import struct_of
from betcode.domain.values.text import shortened
from betcode.providers.codex import commands, frames, items, turns
from betcode.providers.codex.event_builder import CodexEventBuilder
from betcode.providers.codex.state import OpenRequest
from betcode.v1 import agent_pb2 as v1

_MOST_OPEN = 256
_LONGEST = 2000
_LONGEST_NAME = 100
_NAMED = re.compile(r'run tool "([^"]+)"')
UNREAD = "the request could not be translated"

# Requests that no person can be asked, each with the answer that lets the turn go on without.
_NO: dict[str, dict[str, Any]] = {
    "mcpServer/elicitation/request": {"action": "decline"},
    "item/permissions/requestApproval": {"permissions": {}, "scope": "turn"},
    "item/tool/call": {
        "success": False,
        "contentItems": [{"type": "inputText", "text": "betcode has no tools of its own"}],
    },
    "applyPatchApproval": {"decision": "denied"},
    "execCommandApproval": {"decision": "denied"},
}


def on_request(rpc_id: int | str, method: str, frame: frames.RpcMessage, builder: CodexEventBuilder) -> None:
    handler = _ASKED.get(method)
    if any(each.rpc_id == rpc_id for each in builder.state.requests.values()):
        return
    if handler is None:
        _refuse(rpc_id, method, builder)
    elif len(builder.state.requests) >= _MOST_OPEN:
        refuse(rpc_id, f"{_MOST_OPEN} requests are already open: ask again later", builder)
    elif not handler(rpc_id, frame, builder):
        builder.notice(v1.NOTICE_KIND_MALFORMED, f"Codex sent a request that cannot be read ({method}); it was refused")
        refuse(rpc_id, UNREAD, builder)
    elif builder.state.requests:
        builder.status(v1.WAITING_FOR_USER)


def _refuse(rpc_id: int | str, method: str, builder: CodexEventBuilder) -> None:
    what = shortened(method, _LONGEST_NAME)
    builder.notice(v1.NOTICE_KIND_AGENT, f"Codex asked for {what}, which betcode does not support: refused")
    if method in _NO:
        builder.state.errands[f"answer-{rpc_id}"] = commands.answer(rpc_id, _NO[method]).decode()
    else:
        refuse(rpc_id, f"{what} is not supported", builder)


def refuse(rpc_id: int | str, reason: str, builder: CodexEventBuilder) -> None:
    builder.state.errands[f"answer-{rpc_id}"] = commands.refusal(rpc_id, reason).decode()


def _on_command(rpc_id: int | str, frame: frames.RpcMessage, builder: CodexEventBuilder) -> bool:
    asked = frames.read(frame.params, frames.Approval)
    if asked is None:
        return False
    if asked.network_approval_context is not None:
        place = asked.network_approval_context
        tool, own_input = "WebFetch", {"url": f"{place.protocol or 'https'}://{place.host}"}
    else:
        tool, own_input = "Bash", {"command": items.script_of(asked.command or ""), "cwd": asked.cwd or ""}
    if asked.kind == "writeStdin":
        own_input["note"] = "input for a command that runs"
    _ask(rpc_id, asked, tool, own_input, builder)
    return True


def _on_patch(rpc_id: int | str, frame: frames.RpcMessage, builder: CodexEventBuilder) -> bool:
    """The patch itself came with the item before; where it was not seen, nothing is known but that there is one."""
    asked = frames.read(frame.params, frames.Approval)
    if asked is None:
        return False
    known = builder.state.tools.get(asked.item_id)
    if known is None or known.name not in ("Edit", "Write"):
        _ask(rpc_id, asked, "Edit", {"changes": []}, builder)
    else:
        _ask(rpc_id, asked, known.name, json.loads(known.input), builder)
    return True


def _on_form(rpc_id: int | str, frame: frames.RpcMessage, builder: CodexEventBuilder) -> bool:
    """Whether a tool of an MCP server may be used; what a server itself asks for in a form is not given."""
    form = frames.read(frame.params, frames.Form)
    if form is None:
        return False
    if form.meta is None or form.meta.codex_approval_kind != "mcp_tool_call":
        _refuse(rpc_id, frame.method, builder)
        return True
    tool, item_id = _tool_of(form, builder)
    given = frames.plain(form.meta.tool_params)
    approval = frames.Approval(item_id=item_id or f"form-{rpc_id}", reason=form.message)
    _ask(rpc_id, approval, tool, given if isinstance(given, dict) else {}, builder, is_form=True)
    return True


def _tool_of(form: frames.Form, builder: CodexEventBuilder) -> tuple[str, str]:
    """The call that a form is about, which began just before. Where that may be another one, the server alone is named:
    no rule about a tool of it then allows what was not meant."""
    state, prefix = builder.state, f"mcp__{form.server_name}__"
    asked = {each.tool_use_id for each in state.requests.values()}
    names = {
        each: tool.name for each, tool in state.tools.items() if tool.name.startswith(prefix) and each not in asked
    }
    if (said := _NAMED.search(form.message)) is not None:
        names = {each: name for each, name in names.items() if name == prefix + said[1]}
    is_clear = len(set(names.values())) == 1
    item_id = next(iter(names), "")
    return (names[item_id], item_id) if is_clear else (prefix.removesuffix("__"), "")


def _ask(
    rpc_id: int | str,
    asked: frames.Approval,
    tool: str,
    own_input: dict[str, Any],
    builder: CodexEventBuilder,
    *,
    is_form: bool = False,
) -> None:
    state = builder.state
    if asked.thread_id in ("", state.thread):
        turns.begin(builder, asked.turn_id)
    items.start(builder, asked.item_id, tool, own_input, cwd=asked.cwd or "")
    known = state.tools.get(asked.item_id)
    event = builder.new_event(known.parent if known is not None else "").permission_request
    event.request_id = builder.prompt_id(rpc_id)
    event.tool_name = tool
    event.tool_use_id = asked.item_id
    event.input_json = json.dumps(own_input, ensure_ascii=False)
    event.input.CopyFrom(struct_of(own_input))
    event.description = shortened(asked.reason or "", _LONGEST)
    state.requests[event.request_id] = OpenRequest(rpc_id, asked.item_id, is_form=is_form)


def _on_questions(rpc_id: int | str, frame: frames.RpcMessage, builder: CodexEventBuilder) -> bool:
    asked = frames.read(frame.params, frames.Questions)
    if asked is None or not asked.questions:
        return False
    turns.begin(builder)
    group = builder.prompt_id(rpc_id)
    for number, one in enumerate(asked.questions):
        question = builder.new_event().user_question
        question.question_id = f"{group}#{number}"
        question.group_id = group
        question.question = one.question
        question.header = one.header
        if one.is_secret:
            question.note = "The answer is stored in the history: do not enter secrets"
        if number == 0:
            question.input_json = frames.questions_in(frame.params).decode(errors="replace")
        for option in one.options or []:
            question.options.add(value=option.label, label=option.label, description=option.description)
    builder.state.requests[group] = OpenRequest(rpc_id, is_question=True)
    return True


_ASKED: dict[str, Callable[[int | str, frames.RpcMessage, CodexEventBuilder], bool]] = {
    "item/commandExecution/requestApproval": _on_command,
    "item/fileChange/requestApproval": _on_patch,
    "item/tool/requestUserInput": _on_questions,
    "mcpServer/elicitation/request": _on_form,
}


def on_answer(frame: frames.RpcMessage, builder: CodexEventBuilder) -> None:
    """An answer of ours has been written to Codex."""
    state = builder.state
    state.errands.pop(f"answer-{frame.id}", None)
    found = next((name for name, each in state.requests.items() if each.rpc_id == frame.id), None)
    if found is None:
        return
    answered = state.requests.pop(found)
    tool = state.tools.get(answered.tool_use_id)
    if tool is not None:
        tool.began_ns = builder.mono_ns  # how long a person took is not how long the tool ran
    allowed = b'"accept' in bytes(frame.result)
    if tool is not None and not allowed:
        state.declined.append(answered.tool_use_id)
    if state.requests or not state.turn:
        return
    if allowed and tool is not None:
        builder.status(v1.EXECUTING_TOOL, tool.name)
    else:
        builder.turn_to(v1.THINKING)


def on_resolved(news: frames.Resolved, builder: CodexEventBuilder) -> None:
    """Codex went on without the answer; where there was one, it is settled already."""
    found = next((name for name, each in builder.state.requests.items() if each.rpc_id == news.request_id), None)
    if found is not None:
        turns.withdraw(builder, found)
        if not builder.state.requests and builder.state.turn:
            builder.turn_to(v1.THINKING)
