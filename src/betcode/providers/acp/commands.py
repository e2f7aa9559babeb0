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
_ANSWER = "answer"  # an answer before it is known what the agent calls the request
_INTERNAL_ERROR, _UNKNOWN_METHOD = -32603, -32601


def line(command: Command) -> bytes:
    """Raises InvalidRequest where the command cannot be said to this agent."""
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


def addressed(said: bytes, state: State) -> bytes:
    """With the session and the request as the running agent calls them; empty where it no longer waits for it."""
    try:
        value = json.loads(said)
    except ValueError:
        return said
    answer = value.get(_ANSWER)
    if isinstance(answer, dict):
        request = state.requests.get(answer["request"])
        return _answered(answer, request, state) if request is not None else b""
    if value.get("method") == PROMPT:
        value["params"]["sessionId"] = state.conversation_id
        value["params"]["prompt"], left = _as_taken(value["params"]["prompt"], state)
        if left:
            value["params"]["_meta"][KEY]["leftOut"] = left
        return _encoded(value)
    return cancel_line(state.conversation_id) if value.get("method") == CANCEL else said


def cancel_line(conversation_id: str) -> bytes:
    return _encoded({"jsonrpc": "2.0", "method": CANCEL, "params": {"sessionId": conversation_id}})


def cancelled_line(key: str) -> bytes:
    """What the protocol wants of whoever cancels: each open request is answered so."""
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
    """The agent's own id goes back as it came."""
    return f'{{"jsonrpc": "2.0", "id": {key}, "{how}": {json.dumps(what)}}}\n'.encode()


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


# ---------------------------------------------------------------- files


def _blocks(command: SendMessage) -> list[dict[str, Any]]:
    text = valid(command.content)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text or not command.attachments else []
    return blocks + [block for attached in command.attachments for block in _attached(attached)]


def _attached(attached: AttachedFile) -> list[dict[str, Any]]:
    """In the richest form; `addressed` reduces it to what the running agent accepts."""
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


def _as_taken(blocks: list[dict[str, Any]], state: State) -> tuple[list[dict[str, Any]], list[str]]:
    """The blocks as the agent takes them, and the files that it does not."""
    kept: list[dict[str, Any]] = []
    left: list[str] = []
    for block in blocks:
        if block["type"] == "image" and not state.takes_images:
            left.append("an image")
        elif block["type"] == "resource" and not state.takes_files:
            contents = block["resource"]
            name = contents["uri"].removeprefix("attachment:///")
            if "text" not in contents:
                left.append(name)
                continue
            label = f'name="{escape(name)}" type="{escape(contents["mimeType"])}"'
            kept.append({"type": "text", "text": f"<file {label}>\n{contents['text']}\n</file>"})
        else:
            kept.append(block)
    return kept or [{"type": "text", "text": ""}], left
