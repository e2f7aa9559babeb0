"""Tool calls that are screened before the agent's own rules: the hook that reports them, and those that wait."""

import json

import msgspec
from msgspec import Raw, Struct

from betcode.domain.agents.agent_state import CallScreening, ToolCall
from betcode.providers.claude import slash_commands, turns
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.state import State, begin_withdrawing
from betcode.v1 import agent_pb2 as v1
from betcode.wire.frames import EMPTY_OBJECT, Asked, ControlRequest, ControlResponse

# As long as a timer of the agent's can be, 24 days. At its end the agent does not use the tool.
TIMEOUT_S = 2**31 // 1000
_CALLBACK = "betcode-screening"
_MOST_OPEN = 1024
_NOT_SHOWN = (
    "The agent does not submit its tool calls before it runs them. Rules only apply to calls that it submits for "
    "approval, and to calls that it checks itself"
)


class _HookInput(Struct):
    tool_name: str = ""
    tool_input: Raw = EMPTY_OBJECT
    cwd: str = ""


def registration(request_id: str) -> bytes:
    """The line that makes the agent ask before every use of a tool, from its next one on; it may come at any time."""
    hook = {"hookCallbackIds": [_CALLBACK], "timeout": TIMEOUT_S}
    request = {"subtype": "initialize", "hooks": {"PreToolUse": [hook]}}
    return json.dumps({"type": "control_request", "request_id": request_id, "request": request}).encode() + b"\n"


def is_call(frame: ControlRequest) -> bool:
    return frame.request.subtype == "hook_callback"


def opened(frame: ControlRequest, state: State, known: dict[str, ToolCall]) -> None:
    """A use of a tool waits. Its input, which may be large, is kept in memory only; the state knows that it waits."""
    for request_id in [each for each in known if each not in state.calls]:
        del known[request_id]
    call = _call(frame.request_id, frame.request)
    state.calls[call.request_id] = call.tool_name
    known[call.request_id] = call
    if call.tool_use_id and call.cwd:
        state.directories[call.tool_use_id] = call.cwd  # the question that may follow does not say it
        if len(state.directories) > _MOST_OPEN:
            del state.directories[next(iter(state.directories))]
    if len(state.calls) > _MOST_OPEN:
        del state.calls[next(iter(state.calls))]


def waiting(state: State, known: dict[str, ToolCall]) -> tuple[ToolCall, ...]:
    """Those that wait; one whose input was read by a daemon before this one has none."""
    return tuple(known.get(each) or ToolCall(each, tool_name, "") for each, tool_name in state.calls.items())


def on_command(frame: ControlRequest, builder: ClaudeEventBuilder) -> None:
    """A control request of ours has been written to the agent."""
    if frame.request.subtype == "initialize" and bytes(frame.request.hooks) != bytes(EMPTY_OBJECT):
        builder.state.screening = CallScreening.TOLD
        builder.state.screening_asked = frame.request_id
    elif frame.request.subtype == "cancel_async_message":
        begin_withdrawing(builder.state, frame.request_id, frame.request.message_uuid)
    else:
        turns.on_interrupt(frame, builder)


def on_reply(frame: ControlResponse, builder: ClaudeEventBuilder) -> None:
    """The agent has done what a control request of ours asked, or has refused it."""
    if frame.response.response is not None:
        slash_commands.on_described(frame.response.response.commands, builder)
    if builder.state.screening_asked and frame.response.request_id == builder.state.screening_asked:
        done = frame.response.subtype == "success"
        builder.state.screening = CallScreening.YES if done else CallScreening.REFUSED
        builder.state.screening_asked = ""
        if not done:
            builder.notice(v1.NOTICE_KIND_RUN, _NOT_SHOWN)
    elif frame.response.request_id in builder.state.withdrawing:
        turns.on_withdrawn(frame, builder)


def _call(request_id: str, asked: Asked) -> ToolCall:
    try:
        hook = msgspec.json.decode(asked.input, type=_HookInput, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ToolCall(request_id, "", "")
    own_input = bytes(hook.tool_input).decode(errors="replace") if asked.is_exact else ""
    return ToolCall(request_id, hook.tool_name, own_input, hook.cwd, asked.tool_use_id)
