"""Encodes commands as lines for the agent's stdin. Invalid JSON would end the agent, so each line is built whole."""

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
    CallVerdict,
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
from betcode.providers.claude import calls

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_DOCUMENT = "application/pdf"
_LINE_ENDS = {0x0A: " ", 0x0D: " ", 0x85: r"\u0085", 0x2028: r"\u2028", 0x2029: r"\u2029"}  # for any reader of lines
_DENIED = "User denied permission."


def line(command: Command) -> bytes:
    """Raises InvalidRequest where the command cannot be said to this agent."""
    match command:
        case SendMessage():
            return _said(command.message_id, _content(command))
        case CompactContext():
            return _said(command.request_id, "/compact")
        case AnswerPermission():
            return _response(command.request_id, _permission(command))
        case AnswerQuestions():
            return _response(command.request_id, f'{{"behavior":"allow","updatedInput":{_with_answers(command)}}}')
        case Interrupt():
            return _request(
                command.request_id, "interrupt", **({"cancel_queued": True} if command.cancel_queued else {})
            )
        case WithdrawMessage():
            return _request(command.request_id, "cancel_async_message", message_uuid=command.message_id)
        case ScreenCalls():
            return calls.registration(command.request_id)
        case AnswerCall(verdict=CallVerdict.UNDECIDED):
            return _response(command.request_id, "{}")
        case AnswerCall():
            return _response(command.request_id, _decided(command))
        case RefuseRequest():
            answer = {"subtype": "error", "request_id": command.request_id, "error": valid(command.reason)}
            return _encoded({"type": "control_response", "response": answer})
        case Errand():
            return command.line
        case _:
            assert_never(command)


def _permission(answer: AnswerPermission) -> str:
    if answer.behaviour is Behaviour.ALLOW:
        own_input = _own_input(answer.request_id, answer.input_json)
        return f'{{"behavior":"allow","updatedInput":{own_input}}}' if own_input else '{"behavior":"allow"}'
    said = json.dumps(valid(answer.message) or _DENIED)
    stop = ',"interrupt":true' if answer.interrupt else ""
    return f'{{"behavior":"deny","message":{said}{stop}}}'


def _said(message_id: str, content: str | list[dict[str, Any]]) -> bytes:
    return _encoded({"type": "user", "message": {"role": "user", "content": content}, "uuid": message_id})


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _request(request_id: str, subtype: str, **wanted: str | bool) -> bytes:
    return _encoded({"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **wanted}})


def _response(request_id: str, response: str) -> bytes:
    """The agent's own JSON goes back as it came, spliced in as text."""
    text = (
        f'{{"type":"control_response","response":{{"subtype":"success","request_id":{json.dumps(request_id)},'
        f'"response":{response}}}}}\n'
    )
    return text.encode()


def _decided(command: AnswerCall) -> str:
    # An error, or an answer that is none, would not stop the agent: it goes on as if there were no hook.
    decision = {"permissionDecision": command.verdict.value, "permissionDecisionReason": valid(command.reason)}
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}})


def _own_input(request_id: str, input_json: str) -> str:
    """The text on one line; empty where there is none, which lets the agent use its own."""
    text = valid(input_json).translate(_LINE_ENDS).strip()
    if not text:
        return ""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidRequest("The tool's input is not JSON and cannot be sent back", request_id=request_id) from None
    return text


def _with_answers(command: AnswerQuestions) -> str:
    """The questions as they came, and the answers beside them."""
    own_input = _own_input(command.request_id, command.input_json) or "{}"
    if not own_input.startswith("{"):
        raise InvalidRequest("The questions are not a JSON object", request_id=command.request_id)
    rest = own_input[1:-1].strip()
    answers = json.dumps({valid(question): _chosen(answer) for question, answer in command.answers.items()})
    return f'{{{rest}{"," if rest else ""}"answers":{answers}}}'


def _chosen(answer: str | tuple[str, ...]) -> str | list[str]:
    return valid(answer) if isinstance(answer, str) else [valid(label) for label in answer]


def _content(command: SendMessage) -> str | list[dict[str, Any]]:
    text = valid(command.content)
    if not command.attachments:
        return text
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return blocks + [block for attached in command.attachments for block in _blocks(attached)]


def _blocks(attached: AttachedFile) -> list[dict[str, Any]]:
    kind = attached.mime_type.partition(";")[0].strip().lower()
    name = f'name="{escape(valid(attached.filename))}" type="{escape(valid(kind))}"'
    if kind in _IMAGES or kind == _DOCUMENT:
        source = {"type": "base64", "media_type": kind, "data": base64.b64encode(attached.data).decode()}
        # The model is told no name with an image, and people speak of files by their names.
        what = "document" if kind == _DOCUMENT else "image"
        return [{"type": "text", "text": f"<file {name} />"}, {"type": what, "source": source}]
    if not is_text(attached.data):
        raise InvalidRequest(
            f"{attached.filename!r} cannot be attached: the agent accepts images (png, jpeg, gif, webp), PDF and text",
            filename=attached.filename,
            mime_type=attached.mime_type,
        )
    return [{"type": "text", "text": f"<file {name}>\n{attached.data.decode()}\n</file>"}]
