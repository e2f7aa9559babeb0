"""The stream-json frames that the demo agent generates itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

Frame = dict[str, Any]


class Ids(TypedDict):
    """The two ids that nearly every frame carries."""

    session_id: str
    uuid: str


MODEL = "betcode-demo"
TOOLS = ("Agent", "AskUserQuestion", "Bash", "Edit", "Grep", "Read", "TodoWrite")
_NOTHING_USED = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def init(*, session_id: str, uuid: str, cwd: str, model: str, permission_mode: str = "default") -> Frame:
    return {
        "type": "system",
        "subtype": "init",
        "cwd": cwd,
        "session_id": session_id,
        "tools": list(TOOLS),
        "mcp_servers": [],
        "model": model,
        "permissionMode": permission_mode,
        "slash_commands": [],
        "agents": [],
        "skills": [],
        "capabilities": [],
        "uuid": uuid,
    }


def requesting(*, session_id: str, uuid: str) -> Frame:
    return {"type": "system", "subtype": "status", "status": "requesting", "session_id": session_id, "uuid": uuid}


def stream_event(event: Mapping[str, Any], *, session_id: str, uuid: str) -> Frame:
    return {
        "type": "stream_event",
        "event": event,
        "session_id": session_id,
        "parent_tool_use_id": None,
        "uuid": uuid,
    }


def message_start(message_id: str, model: str) -> Frame:
    return {"type": "message_start", "message": {**_message(message_id, model, []), "stop_reason": None}}


def text_start(index: int) -> Frame:
    return {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}


def text_delta(index: int, text: str) -> Frame:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}


def thinking_start(index: int) -> Frame:
    block = {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "content_block_start", "index": index, "content_block": block}


def thinking_delta(index: int, text: str) -> Frame:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "thinking_delta", "thinking": text}}


def tool_start(index: int, tool_id: str, name: str) -> Frame:
    block = {"type": "tool_use", "id": tool_id, "name": name, "input": {}}
    return {"type": "content_block_start", "index": index, "content_block": block}


def input_delta(index: int, text: str) -> Frame:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


def block_stop(index: int) -> Frame:
    return {"type": "content_block_stop", "index": index}


def message_end(stop_reason: str | None) -> Iterator[Frame]:
    """Return the frames that close a message: its stop reason and its end."""
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": _NOTHING_USED}
    yield {"type": "message_stop"}


def assistant(block: Mapping[str, Any], *, message_id: str, model: str, session_id: str, uuid: str) -> Frame:
    """Return one finished block of a message, which replaces its deltas."""
    return {
        "type": "assistant",
        "message": {**_message(message_id, model, [block]), "stop_reason": None},
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": uuid,
    }


def tool_result(tool_id: str, text: str, *, is_error: bool, session_id: str, uuid: str) -> Frame:
    block = {"type": "tool_result", "tool_use_id": tool_id, "content": text, "is_error": is_error}
    return user([block], session_id=session_id, uuid=uuid) | {"tool_use_result": text}


def user(content: Sequence[Mapping[str, Any]], *, session_id: str, uuid: str) -> Frame:
    return {
        "type": "user",
        "message": {"role": "user", "content": list(content)},
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": uuid,
    }


def can_use_tool(request_id: str, tool_id: str, name: str, tool_input: Mapping[str, Any], description: str) -> Frame:
    request: Frame = {
        "subtype": "can_use_tool",
        "tool_name": name,
        "display_name": name,
        "input": tool_input,
        "tool_use_id": tool_id,
    }
    if description:
        request["description"] = description
    if name == "AskUserQuestion":
        request["requires_user_interaction"] = True
    return {"type": "control_request", "request_id": request_id, "request": request}


def lifecycle(message_uuid: str, state: str, *, session_id: str, uuid: str) -> Frame:
    return {
        "type": "command_lifecycle",
        "command_uuid": message_uuid,
        "state": state,
        "uuid": uuid,
        "session_id": session_id,
    }


def success(request_id: str, response: Mapping[str, Any]) -> Frame:
    return {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": request_id, "response": dict(response)},
    }


def refusal(request_id: str, error: str) -> Frame:
    return {
        "type": "control_response",
        "response": {
            "subtype": "error",
            "request_id": request_id,
            "error": error,
            "error_code": "unsupported_request",
        },
    }


def result(text: str, *, session_id: str, uuid: str, duration_ms: int = 0) -> Frame:
    """A turn that ended as it should."""
    return _result(session_id, uuid, duration_ms) | {
        "subtype": "success",
        "is_error": False,
        "stop_reason": "end_turn",
        "terminal_reason": "completed",
        "result": text,
    }


def aborted_result(terminal_reason: str, *, session_id: str, uuid: str, duration_ms: int = 0) -> Frame:
    """A turn that a person stopped."""
    return _result(session_id, uuid, duration_ms) | {
        "subtype": "error_during_execution",
        "is_error": True,
        "stop_reason": None,
        "terminal_reason": terminal_reason,
        "errors": [],
    }


def _result(session_id: str, uuid: str, duration_ms: int) -> Frame:
    return {
        "type": "result",
        "num_turns": 1,
        "duration_ms": duration_ms,
        "duration_api_ms": duration_ms,
        "total_cost_usd": 0,
        "usage": _NOTHING_USED,
        "modelUsage": {},
        "permission_denials": [],
        "session_id": session_id,
        "uuid": uuid,
    }


def _message(message_id: str, model: str, content: Sequence[Mapping[str, Any]]) -> Frame:
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(content),
        "stop_sequence": None,
        "usage": _NOTHING_USED,
    }
