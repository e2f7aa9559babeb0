"""Encodes commands as lines for the agent's stdin."""

import base64
import json
from html import escape
from typing import Any, assert_never

from betcode.domain.agents.commands import (
    AnswerCall,
    AnswerPermission,
    AnswerQuestions,
    AttachedFile,
    Behaviour,
    Command,
    CompactContext,
    Errand,
    Interrupt,
    RefuseRequest,
    ScreenCalls,
    SendMessage,
    WithdrawMessage,
)
from betcode.domain.errors import InvalidRequest
from betcode.domain.sessions.media_type import is_text
from betcode.domain.values.text import valid
from betcode.providers.acp.handshake import request
from betcode.providers.acp.state import OpenRequest, State
from betcode.wire.acp.extensions import KEY

PROMPT, CANCEL = "session/prompt", "session/cancel"
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_ANSWER = "answer"  # the key of an answer that does not have the agent's own request id yet
_INTERNAL_ERROR, _UNKNOWN_METHOD = -32603, -32601


def line(command: Command) -> bytes:
    """Encode a command. Raises InvalidRequest if this agent does not support it."""
    match command:
        case SendMessage():
            ours = {"messageId": command.message_id}
            params = {"sessionId": "", "prompt": _blocks(command), "_meta": {KEY: ours}}
            return request(command.message_id, PROMPT, params)
        case AnswerPermission():
            allow = command.behaviour is Behaviour.ALLOW
            answer = {"request": command.request_id, "allow": allow, "message": valid(command.message)}
            answer |= {"input": valid(command.input_json), "interrupt": command.interrupt}
            return _encoded({_ANSWER: answer})
        case RefuseRequest():
            return _encoded({_ANSWER: {"request": command.request_id, "refuse": valid(command.reason)}})
        case Interrupt():
            return cancel_line("")
        case Errand():
            return command.line
        case AnswerQuestions() | WithdrawMessage() | CompactContext() | ScreenCalls() | AnswerCall():
            raise InvalidRequest("This agent does not support this command")
        case _:
            assert_never(command)


def addressed(line: bytes, state: State) -> bytes:
    """Fill in the running agent's ids of session and request. Empty if the request is no longer open."""
    try:
        value = json.loads(line)
    except ValueError:
        return line
    answer = value.get(_ANSWER)
    if isinstance(answer, dict):
        request = state.requests.get(answer["request"])
        return _answered(answer, request, state) if request is not None else b""
    if value.get("method") == PROMPT:
        value["params"]["sessionId"] = state.conversation_id
        value["params"]["prompt"], omitted = _supported_blocks(value["params"]["prompt"], state)
        if omitted:
            value["params"]["_meta"][KEY]["leftOut"] = omitted
        return _encoded(value)
    return cancel_line(state.conversation_id) if value.get("method") == CANCEL else line


def cancel_line(conversation_id: str) -> bytes:
    return _encoded({"jsonrpc": "2.0", "method": CANCEL, "params": {"sessionId": conversation_id}})


def cancelled_line(key: str) -> bytes:
    """Answer an open request as cancelled. The protocol requires this for each one when a client cancels a turn."""
    return _reply(key, "result", {"outcome": {"outcome": "cancelled"}})


def refusal_line(key: str, reason: str, code: int = _UNKNOWN_METHOD) -> bytes:
    return _reply(key, "error", {"code": code, "message": reason})


def _answered(answer: dict[str, Any], request: OpenRequest, state: State) -> bytes:
    if "refuse" in answer:
        return refusal_line(request.key, answer["refuse"], _INTERNAL_ERROR)
    option = request.allow if answer["allow"] else request.reject
    outcome: dict[str, Any] = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
    ours: dict[str, Any] = {}
    if answer["message"]:
        ours["message"] = answer["message"]
    if answer["interrupt"] and not answer["allow"]:
        ours["interrupt"] = True
    if answer["allow"] and answer["input"] and state.takes_input:
        ours["input"] = json.loads(answer["input"])
    result: dict[str, Any] = {"outcome": outcome}
    if ours:
        result["_meta"] = {KEY: ours}
    return _reply(request.key, "result", result)


def _reply(key: str, how: str, what: dict[str, Any]) -> bytes:
    """Encode a response. `key` is the agent's own id as JSON, inserted without change."""
    return f'{{"jsonrpc": "2.0", "id": {key}, "{how}": {json.dumps(what)}}}\n'.encode()


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


# ---------------------------------------------------------------- files


def _blocks(command: SendMessage) -> list[dict[str, Any]]:
    text = valid(command.content)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text or not command.attachments else []
    return blocks + [block for attached in command.attachments for block in _attached(attached)]


def _attached(attached: AttachedFile) -> list[dict[str, Any]]:
    """Encode a file in its richest form; `addressed` reduces it to a form that the running agent accepts."""
    kind = attached.mime_type.partition(";")[0].strip().lower()
    name = valid(attached.filename)
    data = base64.b64encode(attached.data).decode()
    uri = f"attachment:///{name}"
    if kind in _IMAGES:
        named = {"type": "text", "text": f'<file name="{escape(name)}" type="{escape(kind)}" />'}
        return [named, {"type": "image", "mimeType": kind, "data": data}]
    if is_text(attached.data):
        contents = {"uri": uri, "mimeType": kind or "text/plain", "text": attached.data.decode()}
        return [{"type": "resource", "resource": contents}]
    return [{"type": "resource", "resource": {"uri": uri, "mimeType": kind, "blob": data}}]


def _supported_blocks(blocks: list[dict[str, Any]], state: State) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the blocks in forms that the agent accepts, and the names of files that it does not accept."""
    accepted: list[dict[str, Any]] = []
    omitted: list[str] = []
    for block in blocks:
        if block["type"] == "image" and not state.takes_images:
            omitted.append("an image")
        elif block["type"] == "resource" and not state.takes_files:
            contents = block["resource"]
            name = contents["uri"].removeprefix("attachment:///")
            if "text" not in contents:
                omitted.append(name)
                continue
            label = f'name="{escape(name)}" type="{escape(contents["mimeType"])}"'
            accepted.append({"type": "text", "text": f"<file {label}>\n{contents['text']}\n</file>"})
        else:
            accepted.append(block)
    return accepted or [{"type": "text", "text": ""}], omitted
