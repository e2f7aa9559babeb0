"""Translates permission requests, questions and plans, and refuses requests that nobody here can answer."""

import msgspec
from msgspec import Raw, Struct, field

from betcode.domain.events.display import struct_of
from betcode.domain.values.text import shortened
from betcode.providers.claude import tools, turns
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.state import OpenRequest
from betcode.v1 import agent_pb2 as v1
from betcode.wire.frames import Asked, ControlCancel, ControlRequest, ControlResponse

_MOST_OPEN = 1024
_MOST_SUGGESTIONS = 16
_LONGEST = 2000
_LONGEST_NAME = 100
_LONGEST_ID = 256  # characters of a request's
_LONGEST_TOOL = 512  # and of a tool's name
_LONGEST_PLAN = 16 * 1024


class _OptionInput(Struct):
    label: str = ""
    description: str = ""


class _QuestionInput(Struct):
    question: str
    header: str = ""
    multi_select: bool = field(default=False, name="multiSelect")
    options: list[_OptionInput | str] = field(default_factory=list)


class _Questions(Struct):
    questions: list[_QuestionInput]


class _PlanInput(Struct):
    plan: str = ""


class _Rule(Struct):
    tool: str = field(default="", name="toolName")
    content: str | None = field(default=None, name="ruleContent")


class _Suggestion(Struct):
    type: str = ""
    rules: list[_Rule] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    mode: str = ""
    behavior: str = ""
    destination: str = ""

    @property
    def patterns(self) -> list[str]:
        return [f"{rule.tool}({rule.content})" if rule.content else rule.tool for rule in self.rules]


def on_request(frame: ControlRequest, builder: ClaudeEventBuilder) -> None:
    state, asked = builder.state, frame.request
    if not 0 < len(frame.request_id) <= _LONGEST_ID:
        what = shortened(asked.tool_name or asked.subtype, _LONGEST_NAME) or "something"
        how = "an id that is too long" if frame.request_id else "no id"
        builder.notice(v1.NOTICE_KIND_MALFORMED, f"The agent asked for {what} with {how}, and was refused")
        state.refused[frame.request_id] = f"a request needs an id, which is a text of at most {_LONGEST_ID} characters"
        return
    if frame.request_id in state.requests:
        return
    if asked.subtype != "can_use_tool":
        what = shortened(asked.subtype, _LONGEST_NAME)
        state.refused[frame.request_id] = f"{what or 'this request'} is not supported"
        return
    if len(asked.tool_name) > _LONGEST_TOOL:
        name = shortened(asked.tool_name, _LONGEST_NAME)
        told = f"The agent asked for {name}, which is not a valid tool name, and was refused"
        builder.notice(v1.NOTICE_KIND_MALFORMED, told)
        state.refused[frame.request_id] = f"the name of a tool is at most {_LONGEST_TOOL} characters"
        return
    if len(state.requests) >= _MOST_OPEN:  # each that is open is answered some day, so none is forgotten for another
        what = shortened(asked.tool_name, _LONGEST_NAME)
        told = f"The agent asked for {what} while {_MOST_OPEN} requests waited, and was refused"
        builder.notice(v1.NOTICE_KIND_AGENT, told, request_id=shortened(frame.request_id, _LONGEST_NAME))
        state.refused[frame.request_id] = f"{_MOST_OPEN} requests are already open: ask again later"
        return
    turns.begin(builder)
    known = state.tools.get(asked.tool_use_id)
    tools.start(builder, asked.tool_use_id, asked.tool_name, bytes(asked.input))
    parent = known.parent if known else ""
    if not (asked.tool_name == "AskUserQuestion" and _ask(frame.request_id, asked, parent, builder)):
        _request(frame.request_id, asked, parent, builder)
    state.requests[frame.request_id] = OpenRequest(asked.tool_use_id, asked.tool_name in tools.NEEDS_PERSON)
    builder.status(v1.WAITING_FOR_USER)


def _request(request_id: str, asked: Asked, parent: str, builder: ClaudeEventBuilder) -> None:
    own_input = bytes(asked.input)
    if asked.tool_name == "ExitPlanMode":
        _present(own_input, builder)
    request = builder.new_event(parent).permission_request
    request.request_id = request_id
    request.tool_name = asked.tool_name
    request.tool_use_id = asked.tool_use_id
    request.input.CopyFrom(struct_of(own_input))
    request.input_json = bytes(asked.input if asked.is_exact else asked.own_text).decode(errors="replace")
    if not asked.is_exact:
        request.note = f"The input could not be read; it is {len(bytes(asked.own_text))} bytes"
    request.description = shortened(
        asked.description or tools.description_in(request.input) or asked.decision_reason or request.note, _LONGEST
    )
    for suggestion in (asked.permission_suggestions or [])[:_MOST_SUGGESTIONS]:
        text = bytes(suggestion).decode(errors="replace")
        request.suggestions.add(label=_label(suggestion), json=text)
        for pattern in _grants(suggestion):
            request.grant_offers.add(pattern=pattern)


def _ask(request_id: str, asked: Asked, parent: str, builder: ClaudeEventBuilder) -> bool:
    """One event per question; False where the questions cannot be read."""
    own_input = bytes(asked.input)
    try:
        questions = msgspec.json.decode(own_input, type=_Questions, strict=False).questions
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    for number, asked_question in enumerate(questions):
        question = builder.new_event(parent).user_question
        question.question_id = f"{request_id}#{number}"
        question.group_id = request_id
        question.question = asked_question.question
        question.header = asked_question.header
        question.multi_select = asked_question.multi_select
        if number == 0:
            question.input_json = own_input.decode(errors="replace")
        for option in asked_question.options:
            plain = _OptionInput(option) if isinstance(option, str) else option
            question.options.add(value=plain.label, label=plain.label, description=plain.description)
    return bool(questions)


def _present(own_input: bytes, builder: ClaudeEventBuilder) -> None:
    """The plan that a person is asked to accept."""
    try:
        plan = msgspec.json.decode(own_input, type=_PlanInput, strict=False).plan
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        plan = ""
    if not plan:
        return
    builder.state.plan = shortened(plan, _LONGEST_PLAN)
    change = builder.new_event().plan_mode
    change.active = True
    change.plan = plan


def on_answer(frame: ControlResponse, builder: ClaudeEventBuilder) -> None:
    """An answer of ours has been written to the agent."""
    state, answer = builder.state, frame.response
    state.refused.pop(answer.request_id, None)
    state.calls.pop(answer.request_id, None)
    request = state.requests.pop(answer.request_id, None)
    if request is None:
        return
    tool = state.tools.get(request.tool_use_id)
    if tool is not None:
        tool.began_ns = builder.mono_ns  # how long a person took is not how long the tool ran
    if state.requests or not state.turn:
        return
    allowed = answer.response is not None and answer.response.behavior == "allow"
    if allowed and tool is not None and not request.needs_person:
        builder.status(v1.EXECUTING_TOOL, tool.name)
    else:
        builder.turn_to(v1.THINKING)


def on_withdrawn(frame: ControlCancel, builder: ClaudeEventBuilder) -> None:
    state = builder.state
    state.refused.pop(frame.request_id, None)
    state.calls.pop(frame.request_id, None)
    if frame.request_id in state.requests:
        tools.withdraw(builder, frame.request_id)
        if not state.requests and state.turn:
            builder.turn_to(v1.THINKING)


def _grants(suggestion: Raw) -> list[str]:
    """The rules that the agent proposes to allow."""
    offer = _read(suggestion)
    return offer.patterns if offer is not None and (offer.type, offer.behavior) == ("addRules", "allow") else []


def _read(suggestion: Raw) -> _Suggestion | None:
    try:
        return msgspec.json.decode(suggestion, type=_Suggestion, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _label(suggestion: Raw) -> str:
    offer = _read(suggestion)
    if offer is None:
        return ""
    what = ", ".join(offer.patterns or offer.directories) or offer.mode
    return shortened(f"{offer.behavior or offer.type} {what}".strip(), _LONGEST)
