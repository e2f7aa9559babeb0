"""Prompts as plain lines: shown, answered, and withdrawn when someone else has answered."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from betcode.client import Client
from betcode.util.signal import ChangeSignal
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import one_line, tool_called

_BUDGET = "Budget"  # the tool name of the daemon's budget prompts
_SHOWN_LINES = 24
_SHOWN_LETTERS = 4000
_OFFER_WIDTH = 100
_WHY_WIDTH = 200


@dataclass(frozen=True, slots=True)
class Permission:
    """A request to run a tool."""

    request: v1.PermissionRequest
    was_cut: bool = False

    @property
    def request_id(self) -> str:
        return self.request.request_id

    def lines(self, *, whole: bool = False) -> list[str]:
        """Return the tool, its purpose and its input; omissions are marked."""
        request = self.request
        if self.is_of_budget:
            return [request.description]
        plan = "The agent asks you to approve its plan"
        title = plan if self.is_plan else f"{tool_called(request.tool_name)} asks for permission"
        # On one line, so that it cannot imitate one of our lines
        purpose = one_line(request.description, _SHOWN_LETTERS)
        shown = [f"{title}: {purpose}" if purpose else title]
        if request.deciding_rule and not self.is_plan:
            shown.append(f"    (reason: {why(request)})")
        shown += [f"    {line}" for line in input_lines(request, whole=whole)]
        if self.was_cut:
            shown.append("    (truncated)")
        if request.note:
            shown.append(f"    Note: {request.note}")
        return shown

    @property
    def is_of_budget(self) -> bool:
        """Whether the daemon asks, not an agent: the sentence contains everything."""
        return self.request.tool_name == _BUDGET and not self.request.tool_use_id and bool(self.request.description)

    @property
    def is_plan(self) -> bool:
        return self.request.tool_name == "ExitPlanMode"

    @property
    def is_editable(self) -> bool:
        return not self.is_plan and not self.was_cut and not self.is_of_budget

    def choices(self) -> list[str]:
        """Return the numbered rules that can be granted for the rest of the session."""
        return [
            f"    s {number} = for this session, {offer.label}: {one_line(offer.pattern, _OFFER_WIDTH)}"
            for number, offer in enumerate(self.request.grant_offers, 1)
        ]

    @property
    def question(self) -> str:
        if self.is_of_budget:
            return "Raise it? [y = yes, n = no, n REASON] "
        session = "s NUMBER = for this session, " if self.request.grant_offers else ""
        edit = "e = edit, " if self.is_editable else ""
        return f"Allow? [y = yes, {session}{edit}n = no, n REASON, i = no and stop, v = show all] "

    @property
    def again(self) -> str:
        """Return the reply to a line that is not an answer."""
        if self.is_of_budget:
            return "Invalid answer: type y or n"
        session = "s and a number, " if self.request.grant_offers else ""
        return f"Invalid answer: type y, {session}{'e, ' if self.is_editable else ''}n, i or v"


@dataclass(frozen=True, slots=True)
class Question:
    """A question with options."""

    asked: v1.UserQuestion

    @property
    def request_id(self) -> str:
        return self.asked.group_id or self.asked.question_id

    def lines(self) -> list[str]:
        """Return the question and its options."""
        title = f"{self.asked.header}: {self.asked.question}" if self.asked.header else self.asked.question
        note = [f"    Note: {self.asked.note}"] if self.asked.note else []
        return [title, *note] + [
            f"    {number}. {option.label or option.value}" + (f": {option.description}" if option.description else "")
            for number, option in enumerate(self.asked.options, 1)
        ]

    @property
    def question(self) -> str:
        several = ", several with commas" if self.asked.multi_select else ""
        return f"Your answer [number{several}, or your own words; /deny = none] "

    @property
    def again(self) -> str:
        """Return the reply to a line that is not an answer."""
        count = len(self.asked.options)
        number = f"a number from 1 to {count}, " if count else ""
        return f"Invalid answer: type {number}your own words, or /deny"


Prompt = Permission | Question


@dataclass(frozen=True, slots=True)
class Allow:
    by_policy: bool = False  # decided without asking a person


@dataclass(frozen=True, slots=True)
class AllowSession:
    """Allow this call and all others in this session that the pattern covers."""

    pattern: str


@dataclass(frozen=True, slots=True)
class AllowEdited:
    input_json: str


@dataclass(frozen=True, slots=True)
class Deny:
    message: str = ""
    by_policy: bool = False


@dataclass(frozen=True, slots=True)
class DenyAndStop:
    """Deny, and end the turn."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    text: str


@dataclass(frozen=True, slots=True)
class ShowAll:
    pass


@dataclass(frozen=True, slots=True)
class ShowChoices:
    pass


@dataclass(frozen=True, slots=True)
class Edit:
    """Run the tool with this input, or with an input from the editor if there is none."""

    text: str = ""


PromptAnswer = Allow | AllowSession | AllowEdited | Deny | DenyAndStop | Reply
Typed = Allow | AllowSession | Edit | Deny | DenyAndStop | Reply | ShowAll | ShowChoices


def understand(prompt: Prompt, line: str) -> Typed | None:
    """Return the meaning of a typed line for this prompt; None if it has none."""
    text = line.strip()
    word, _, rest = text.partition(" ")
    if isinstance(prompt, Permission):
        match word.lower():
            case "y" | "yes" if not rest:
                return Allow()
            case "s" if prompt.request.grant_offers:
                return _granted(prompt.request.grant_offers, rest.strip())
            case "e" if prompt.is_editable:
                return Edit(rest.strip())
            case "n" | "no":
                return Deny(rest.strip())
            case "i":
                return DenyAndStop(rest.strip())
            case "v" if not rest:
                return ShowAll()
            case _:
                return None
    if word.lower() == "/deny":
        return Deny(rest.strip())
    chosen = chosen_options(prompt.asked, text)
    if chosen is None and _is_no_option(prompt.asked, text):
        return None
    return Reply(chosen or text) if text else None


def _is_no_option(asked: v1.UserQuestion, text: str) -> bool:
    """Whether the text is a bare number of no option: a typing error, not an answer."""
    parts = text.split(",") if asked.multi_select else [text]
    is_number = all(part.strip().isascii() and part.strip().isdigit() for part in parts)
    return bool(asked.options) and is_number and text not in (option.label or option.value for option in asked.options)


def why(request: v1.PermissionRequest) -> str:
    """Return why a person is asked, on one line: the rule and its file and line, or the reason."""
    rule = "a rule asks: " if request.deciding_rule.startswith("ask ") else ""
    return rule + one_line(request.deciding_rule, _WHY_WIDTH)


def asks_each_time(request: v1.PermissionRequest) -> bool:
    """Whether a rule requires asking each time, even after a grant."""
    return request.deciding_rule.startswith("ask ") and not request.grant_offers


def offered(offers: Sequence[v1.GrantOffer], number: int) -> str | None:
    """Return the pattern of the offer with this number, counted from 1."""
    return offers[number - 1].pattern if 1 <= number <= len(offers) else None


def _granted(offers: Sequence[v1.GrantOffer], text: str) -> AllowSession | ShowChoices:
    """Return the offer of that number, the only offer, or a typed pattern."""
    if text.isascii() and text.isdigit():
        pattern = offered(offers, int(text))
        return ShowChoices() if pattern is None else AllowSession(pattern)
    if not text:
        return AllowSession(offers[0].pattern) if len(offers) == 1 else ShowChoices()
    return AllowSession(text)


def chosen_options(asked: v1.UserQuestion, text: str) -> str | None:
    """Return the options for one number, or several if allowed; None if a number is invalid."""
    parts = [part.strip() for part in text.split(",")] if asked.multi_select else [text.strip()]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= len(asked.options) for part in parts):
        return None
    options = [asked.options[int(part) - 1] for part in parts]
    labels = [option.label or option.value for option in options]
    is_clear = len(labels) == 1 or not any("," in label for label in labels)
    return ", ".join(labels) if is_clear else json.dumps(labels, ensure_ascii=False)


def first_option(question: Question) -> Reply:
    """Return an arbitrary answer for a demo that nobody watches."""
    return Reply(question.asked.options[0].label if question.asked.options else "yes")


class OpenPrompts:
    """The open prompts, in the order in which they arrived."""

    def __init__(self) -> None:
        self._open: dict[str, Prompt] = {}
        self._changed = ChangeSignal()

    @property
    def all(self) -> tuple[Prompt, ...]:
        return tuple(self._open.values())

    def has(self, prompt: Prompt) -> bool:
        return any(one is prompt for one in self._open.values())

    async def gone(self, prompt: Prompt) -> None:
        """Return when the prompt is no longer open."""
        while self.has(prompt):
            await self._changed.wait()

    @property
    def current(self) -> Prompt | None:
        return next(iter(self._open.values()), None)

    def see(self, event: v1.AgentEvent) -> Prompt | None:
        """Return the prompt that this event opens, if it is new; remove a resolved one."""
        match event.WhichOneof("event"):
            case "permission_request":
                return self._add(
                    event.permission_request.request_id, Permission(event.permission_request, any(event.cuts))
                )
            case "user_question":
                return self._add(event.user_question.question_id, Question(event.user_question))
            case "permission_resolved":
                self.forget(event.permission_resolved.request_id)
            case _:
                pass
        return None

    def add_pending(self, pending: Iterable[v1.PendingPrompt]) -> None:
        """Add the prompts that were open before."""
        for one in pending:
            if one.WhichOneof("prompt") == "permission":
                self._add(one.permission.request_id, Permission(one.permission))
            for question in one.questions.questions:
                self._add(question.question_id, Question(question))
            self.drop_answered([one])

    def drop_answered(self, pending: Iterable[v1.PendingPrompt]) -> None:
        """Remove the answered questions of open groups."""
        groups = [one.questions for one in pending]
        for question in (each for group in groups for each in group.questions if each.question in group.answers):
            self._open.pop(question.question_id, None)

    def forget(self, request_id: str) -> bool:
        """Remove a request; return whether it was open."""
        mine = [key for key, prompt in self._open.items() if request_id in (key, prompt.request_id)]
        for key in mine:
            del self._open[key]
        self._announce()
        return bool(mine)

    def done(self, prompt: Prompt) -> None:
        """Remove one answered prompt; other questions of its group remain."""
        self._open = {key: other for key, other in self._open.items() if other is not prompt}
        self._announce()

    def _announce(self) -> None:
        self._changed.notify()

    def _add(self, key: str, prompt: Prompt) -> Prompt | None:
        if key in self._open:
            return None
        self._open[key] = prompt
        return prompt


async def send_answer(client: Client, prompt: Prompt, typed: PromptAnswer) -> None:
    """Send the answer to the daemon.

    Raises:
        ClientError: someone else answered differently, the agent withdrew the prompt, or this client may not answer.
    """
    match typed:
        case Allow(by_policy):
            await client.answer(prompt.request_id, v1.PermissionResponse(decision=v1.ALLOW_ONCE, by_policy=by_policy))
        case AllowSession(pattern):
            response = v1.PermissionResponse(decision=v1.ALLOW_SESSION, grant_pattern=pattern)
            await client.answer(prompt.request_id, response)
        case AllowEdited(input_json):
            response = v1.PermissionResponse(decision=v1.ALLOW_WITH_EDIT, updated_input_json=input_json)
            await client.answer(prompt.request_id, response)
        case Deny(message, by_policy):
            response = v1.PermissionResponse(decision=v1.DENY, message=message, by_policy=by_policy)
            await client.answer(prompt.request_id, response)
        case DenyAndStop(message):
            await client.answer_permission(prompt.request_id, v1.DENY_WITH_INTERRUPT, message=message)
        case Reply(text):
            assert isinstance(prompt, Question)
            await client.answer_question(prompt.asked.question_id, {prompt.asked.question: text})


def input_lines(request: v1.PermissionRequest, *, whole: bool) -> list[str]:
    """Return every field of a tool's input, with its name; shortened unless `whole`."""
    lines: list[str] = []
    for name, value in fields_of(request.input_json).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *rest = text.split("\n")
        lines.append(f"{name}: {first}")
        lines += [f"  {line}" for line in rest]
    if whole:
        return lines
    shown: list[str] = []
    letters = 0
    for number, line in enumerate(lines):
        if number == _SHOWN_LINES or letters + len(line) > _SHOWN_LETTERS:
            left = sum(len(other) for other in lines[number:])
            return [*shown, line[: max(_SHOWN_LETTERS - letters, 0)], f"… and {left:,} more characters: v shows all"]
        shown.append(line)
        letters += len(line)
    return shown


def fields_of(input_json: str) -> Mapping[str, object]:
    """Return a tool's input; unreadable JSON is returned unchanged as `input`."""
    try:
        value = json.loads(input_json or "{}")
    except (ValueError, RecursionError):
        return {"input": input_json}
    return value if isinstance(value, dict) else {"input": value}
