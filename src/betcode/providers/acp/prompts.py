"""Translates permission requests of the agent, and refuses unsupported requests."""

import logging

from betcode.domain.events.display import struct_of
from betcode.domain.values.text import shortened
from betcode.providers.acp import api_pauses, text, tools
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.state import OpenRequest
from betcode.v1 import agent_pb2 as v1
from betcode.wire.acp.decoder import plain, read
from betcode.wire.acp.extensions import KEY
from betcode.wire.acp.frames import Message, PermissionOption, PermissionResult, ToolUse

logger = logging.getLogger(__name__)

PERMISSION = "session/request_permission"
_MOST_OPEN = 256
_MOST_REFUSED = 512
_MOST_SUGGESTIONS = 16
_LONGEST = 2000
_LONGEST_METHOD = 100
_LONGEST_KEY = 256
_ONLY_ALWAYS = "The agent only offers to allow this permanently"


def on_request(message: Message, builder: AcpEventBuilder) -> None:
    """Translate or refuse a request of the agent."""
    state = builder.state
    if any(request.key == message.key for request in state.requests.values()):
        return
    if len(message.key) > _LONGEST_KEY:
        builder.notice(v1.NOTICE_KIND_MALFORMED, "The agent sent a request whose id is too long to answer")
        return
    if message.method != PERMISSION:
        refuse(builder, message.key, f"{shortened(message.method, _LONGEST_METHOD)} is not supported")
        return
    params = message.params
    options = (params.options if params else None) or []
    request = OpenRequest(
        message.key,
        "",
        _option(options, "allow_once", "allow_always"),
        _option(options, "reject_once", "reject_always"),
    )
    if state.interrupted:
        _cancel(builder, request)
    elif not request.allow:
        refuse(builder, message.key, "no option allows the call, so the request was refused")
    elif len(state.requests) >= _MOST_OPEN:
        refuse(builder, message.key, f"{_MOST_OPEN} requests are already open: ask again later")
    else:
        _ask(request, (params.tool_call if params else None) or ToolUse(), options, builder)


def _ask(asked: OpenRequest, use: ToolUse, options: list[PermissionOption], builder: AcpEventBuilder) -> None:
    state = builder.state
    api_pauses.resumed(builder)
    text.settle(builder)
    asked.tool_id, what = tools.ask_about(use, builder)
    tool = state.tools[asked.tool_id]
    request_id = builder.unique(asked.key)
    request = builder.new_event().permission_request
    request.request_id = request_id
    request.tool_name = what.name
    request.tool_use_id = asked.tool_id
    request.input.CopyFrom(struct_of(what.input_json))
    request.input_json = what.input_json
    fields = request.input.fields
    described = fields["description"].string_value if "description" in fields else ""
    request.description = shortened(described or tool.title, _LONGEST)
    if not any(each.kind == "allow_once" for each in options):
        request.note = _ONLY_ALWAYS
    for each in options[:_MOST_SUGGESTIONS]:
        if each.kind == "allow_always":
            request.suggestions.add(label=shortened(each.name or each.kind, _LONGEST))
    state.requests[request_id] = asked
    builder.status(v1.WAITING_FOR_USER)


def _option(options: list[PermissionOption], *kinds: str) -> str:
    return next((each.option_id for kind in kinds for each in options if each.kind == kind and each.option_id), "")


def refuse(builder: AcpEventBuilder, key: str, reason: str) -> None:
    """Queue a refusal, so that the agent does not wait forever. Ignored if too many refusals are queued already."""
    if len(builder.state.refused) >= _MOST_REFUSED:
        logger.debug("too many requests to refuse: one is ignored")
        return
    builder.state.refused[builder.unique(f"refused {key}")] = [key, reason]


def on_answer(message: Message, builder: AcpEventBuilder) -> None:
    """Close the request whose answer was written to the agent."""
    state, key = builder.state, message.key
    state.cancelling = {errand: own for errand, own in state.cancelling.items() if own != key}
    state.refused = {errand: what for errand, what in state.refused.items() if what[0] != key}
    answered = next((name for name, request in state.requests.items() if request.key == key), None)
    if answered is None:
        return
    request = state.requests.pop(answered)
    answer = read(message.result, PermissionResult) or PermissionResult()
    chosen = answer.outcome.option_id if answer.outcome else ""
    allowed = bool(chosen) and chosen != request.reject
    tool = state.tools.get(request.tool_id)
    if tool is not None:
        tool.began_ns = builder.mono_ns  # the time a person took to answer is not run time of the tool
        tool.denied = not allowed
    state.denied = state.denied or not allowed
    meta = plain(answer.meta)
    ours = meta.get(KEY) if isinstance(meta, dict) else None
    if isinstance(ours, dict) and ours.get("interrupt"):
        state.stop_after = answered
    if state.requests:
        return
    if not state.turn:
        builder.turn_to(v1.IDLE)
    elif allowed and tool is not None:
        builder.status(v1.EXECUTING_TOOL, tool.name)
    else:
        builder.turn_to(v1.THINKING)


def on_cancel(builder: AcpEventBuilder) -> None:
    """Cancel the turn. The protocol requires that its open requests are answered as cancelled."""
    state = builder.state
    state.stop_after = ""
    if not state.turn:
        return
    state.interrupted = True
    for request_id, request in list(state.requests.items()):
        tools.withdraw(builder, request_id)
        _cancel(builder, request)


def _cancel(builder: AcpEventBuilder, request: OpenRequest) -> None:
    builder.state.cancelling[builder.unique(f"cancelled {request.key}")] = request.key
