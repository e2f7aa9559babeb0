"""Encodes commands as lines for Codex's stdin, and fills in the ids of the running agent."""

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
from betcode.domain.sessions.media_type import declared, is_text, kind_of
from betcode.domain.values.text import valid
from betcode.providers.codex.launch import request
from betcode.providers.codex.state import State

TURN = "turn/start"
COMPACTION = "thread/compact/start"
INTERRUPT = "turn/interrupt"
CLEANING = "thread/backgroundTerminals/clean"
STEER = "turn/steer"
NO_SUCH_METHOD = -32601
_WHY = "betcode_why"  # beside an answer, until it is addressed: what the model is told with a denial
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_IMPLEMENT = "/implement"
_PLAN = "/plan"
_GO = "Implement the plan."


def line(command: Command) -> bytes:
    """Raises InvalidRequest where the command cannot be said to Codex."""
    match command:
        case SendMessage():
            return request(command.message_id, TURN, _turn(command))
        case CompactContext():
            return request(command.request_id, COMPACTION, {})
        case Interrupt():
            return request(command.request_id, INTERRUPT, {})
        case AnswerPermission():
            return _encoded({"id": command.request_id, "result": {"decision": _decision(command)}} | _why(command))
        case AnswerQuestions():
            return _encoded({"id": command.request_id, "result": {"answers": _answers(command)}})
        case RefuseRequest():
            return refusal(command.request_id, command.reason)
        case Errand():
            return command.line
        case WithdrawMessage() | ScreenCalls() | AnswerCall():
            raise InvalidRequest("Codex does not support this command")
        case _:
            assert_never(command)


def refusal(rpc_id: int | str, reason: str) -> bytes:
    return _encoded({"id": rpc_id, "error": {"code": NO_SUCH_METHOD, "message": valid(reason)}})


def answer(rpc_id: int | str, result: dict[str, Any]) -> bytes:
    return _encoded({"id": rpc_id, "result": result})


def addressed(state: State, text: bytes, effort: str = "") -> bytes:
    """The line with the thread, the turn or the request that it is about now; empty where that is over."""
    if text.decode() in state.errands.values():
        return text
    try:
        said = json.loads(text)
    except ValueError:
        return b""  # an answer that was addressed before, to a process that is gone
    params = said.get("params")
    if not isinstance(params, dict):
        return _addressed_answer(state, said)
    match said.get("method"):
        case "turn/start":
            return _encoded({**said, "params": {**params, "threadId": state.thread, **_mode(state, params, effort)}})
        case "thread/compact/start":
            return _encoded({**said, "params": {"threadId": state.thread}})
        case "turn/interrupt" if not state.turn_id:
            return b""  # told again as soon as there is a turn
        case "turn/interrupt":
            return _encoded({**said, "params": {"threadId": state.thread, "turnId": state.turn_id}})
        case _:
            return text


def _addressed_answer(state: State, said: dict[str, Any]) -> bytes:
    open_request = state.requests.get(said.get("id", ""))
    if open_request is None:
        return b""
    why = said.pop(_WHY, "")
    if open_request.is_form and "result" in said:
        action = said["result"]["decision"]
        said["result"] = {"action": action} | ({"content": {}} if action == "accept" else {})
    reply = _encoded({**said, "id": open_request.rpc_id})
    if not why or not state.turn_id:
        return reply
    told = {"threadId": state.thread, "expectedTurnId": state.turn_id, "input": [{"type": "text", "text": why}]}
    return reply + request(f"{said['id']}-why", STEER, told)


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


# ---------------------------------------------------------------- messages


def _turn(command: SendMessage) -> dict[str, Any]:
    text, mode = _wish(valid(command.content))
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text or not command.attachments else []
    for attached in command.attachments:
        content += _parts(attached)
    params: dict[str, Any] = {"input": content, "clientUserMessageId": command.message_id}
    return {**params, "collaborationMode": {"mode": mode}} if mode else params


def _wish(text: str) -> tuple[str, str]:
    """What is said to the model, and the mode that the person asks for with it."""
    first, _, rest = text.strip().partition(" ")
    if first == _IMPLEMENT:
        return rest.strip() or _GO, "default"
    if first == _PLAN and rest.strip():
        return rest.strip(), "plan"
    return text, ""


def _mode(state: State, params: dict[str, Any], effort: str) -> dict[str, Any]:
    """The collaboration mode, where Codex has to be told one: it keeps what it was told before."""
    asked = params.get("collaborationMode") or {}
    wanted = asked.get("mode") or ("plan" if state.plan_mode else "default")
    if wanted == (state.mode or ("" if state.has_planned else "default")):
        return {"collaborationMode": None} if asked else {}
    settings = {"model": state.model, "reasoning_effort": effort or None, "developer_instructions": None}
    return {"collaborationMode": {"mode": wanted, "settings": settings}}


def _parts(attached: AttachedFile) -> list[dict[str, Any]]:
    kind = kind_of(attached.data) or declared(attached.mime_type)
    name = f'name="{escape(valid(attached.filename))}"'
    if kind in _IMAGES:
        url = f"data:{kind};base64,{base64.b64encode(attached.data).decode()}"
        return [{"type": "text", "text": f"<file {name} />"}, {"type": "image", "url": url}]
    if not is_text(attached.data):
        raise InvalidRequest(
            f"{attached.filename!r} cannot be attached: Codex accepts images (png, jpeg, gif, webp) and text",
            filename=attached.filename,
            mime_type=attached.mime_type,
        )
    return [{"type": "text", "text": f"<file {name}>\n{attached.data.decode()}\n</file>"}]


# ---------------------------------------------------------------- answers


def _decision(command: AnswerPermission) -> str:
    if command.behaviour is Behaviour.ALLOW:
        return "accept"
    return "cancel" if command.interrupt else "decline"


def _why(command: AnswerPermission) -> dict[str, str]:
    """A denial has no words of its own on this wire: the model hears them as a message, in the same turn."""
    is_told = command.behaviour is Behaviour.DENY and not command.interrupt and command.message.strip()
    return {_WHY: valid(command.message)} if is_told else {}


def _answers(command: AnswerQuestions) -> dict[str, Any]:
    """By the ids of the questions, which stand beside their texts in what Codex asked."""
    try:
        asked = json.loads(command.input_json)["questions"]
        ids = {question["question"]: question["id"] for question in asked}
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InvalidRequest("The questions cannot be read", request_id=command.request_id) from None
    return {
        ids[text]: {"answers": [valid(said)] if isinstance(said, str) else [valid(label) for label in said]}
        for text, said in command.answers.items()
        if text in ids
    }
