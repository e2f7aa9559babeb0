"""Decisions about prompts: parse an answer, check it, and compare it with an earlier one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from betcode.domain.agents.commands import AnswerPermission, AnswerQuestions, Behaviour
from betcode.domain.errors import InvalidRequest, PermissionStale
from betcode.domain.permissions.decision_text import DECIDED
from betcode.domain.permissions.edited_input import missing_field
from betcode.domain.store.rows import PromptKind, PromptRow, PromptState
from betcode.domain.values.text import shortened
from betcode.domain.values.times import rfc3339_past
from betcode.engine.core.questions import answers_text, refuse_if_long
from betcode.rules import FOR_PEOPLE, PathContext, Rule, ToolUse, exact_rule, granting
from betcode.v1 import agent_pb2 as v1

EDIT_LIMIT_BYTES = 4 * 1024 * 1024
_LONGEST_KEY = 256  # characters
_QUOTED = 200  # characters of a question and of its answer in a sentence
_ALLOWING = frozenset({v1.ALLOW_ONCE, v1.ALLOW_SESSION, v1.ALLOW_WITH_EDIT})
_CHOICES = "ALLOW_ONCE, ALLOW_SESSION, ALLOW_WITH_EDIT, DENY, DENY_NO_INTERRUPT or DENY_WITH_INTERRUPT"


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """A person's answer as it came in; making one that decides nothing raises InvalidRequest."""

    request_id: str
    decision: v1.PermissionDecision.ValueType
    message: str = ""
    idempotency_key: str = ""
    grant_pattern: str = ""
    updated_input: str | None = None  # JSON
    by_policy: bool = False  # of the client; nobody was asked

    def __post_init__(self) -> None:
        if self.decision == v1.PERMISSION_DECISION_UNSPECIFIED or self.decision not in v1.PermissionDecision.values():
            raise InvalidRequest(f"The answer has no decision: send {_CHOICES}", request_id=self.request_id[:100])
        if len(self.idempotency_key) > _LONGEST_KEY:
            raise InvalidRequest(
                f"The idempotency key is longer than {_LONGEST_KEY} characters", request_id=self.request_id[:100]
            )
        refuse_if_long(self.message, "message", self.request_id)


@dataclass(frozen=True, slots=True)
class PromptDecision:
    """An answer that can be applied."""

    value: v1.PermissionDecision.ValueType
    message: str = ""
    idempotency_key: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    updated_input: str = ""  # JSON that takes the place of the agent's own
    grant: Rule | None = None  # for the rest of the session
    by_policy: bool = False

    @property
    def allows(self) -> bool:
        return self.value in _ALLOWING

    @property
    def name(self) -> str:
        return v1.PermissionDecision.Name(self.value)

    @property
    def grant_pattern(self) -> str:
        return self.grant.text if self.grant is not None else ""

    def command(self, prompt: PromptRow) -> AnswerPermission | AnswerQuestions:
        """What the agent is told."""
        if self.answers:
            return AnswerQuestions(prompt.request_id, prompt.input_json, answers_text(prompt, self.answers))
        if self.allows:
            return AnswerPermission(prompt.request_id, Behaviour.ALLOW, self.updated_input or _sent_back(prompt))
        stops = self.value == v1.DENY_WITH_INTERRUPT
        return AnswerPermission(prompt.request_id, Behaviour.DENY, prompt.input_json, self.message, stops)


def decision_in(row: PromptRow) -> PromptDecision:
    """What an answered prompt was answered with, to be said to an agent that asks the same."""
    value = v1.PermissionDecision.Value(row.decision)
    return PromptDecision(value, row.message, row.idempotency_key, row.answers, row.updated_input)


def decide(answer: PermissionAnswer, prompt: PromptRow, place: PathContext) -> PromptDecision:
    """Raises InvalidRequest where the answer cannot be applied as it is; then the prompt stays open."""
    value = answer.decision
    if value in _ALLOWING and prompt.kind is PromptKind.QUESTION:
        raise InvalidRequest(
            "This is a question: answer it with --choose or --question, or deny it", request_id=answer.request_id
        )
    return PromptDecision(
        value,
        answer.message,
        answer.idempotency_key,
        updated_input=_edited(answer, prompt),
        grant=_granted(answer, prompt, place),
        by_policy=answer.by_policy,
    )


def _edited(answer: PermissionAnswer, prompt: PromptRow) -> str:
    """What a person put in place of the input: an answer that edits is never applied without it."""
    given = answer.updated_input
    if answer.decision != v1.ALLOW_WITH_EDIT:
        if given is not None:
            raise InvalidRequest("Only ALLOW_WITH_EDIT accepts an edited input", request_id=answer.request_id)
        return ""
    if prompt.tool_name in FOR_PEOPLE:
        raise InvalidRequest(
            "This cannot be edited: deny it with a message about the change you want", request_id=answer.request_id
        )
    if given is None:
        raise InvalidRequest(
            "ALLOW_WITH_EDIT needs the edited input: send updated_input_json or updated_input",
            request_id=answer.request_id,
        )
    if len(given.encode("utf-8", "surrogatepass")) > EDIT_LIMIT_BYTES:
        raise InvalidRequest(
            f"The edited input is longer than {EDIT_LIMIT_BYTES} bytes: make it shorter", request_id=answer.request_id
        )
    edited, own = json_value(given), json_value(prompt.input_json)
    if not isinstance(edited, dict):
        raise InvalidRequest("The edited input is not a JSON object", request_id=answer.request_id)
    if isinstance(own, dict) and (name := missing_field(own, edited)) is not None:
        raise InvalidRequest(
            f"The edited input has no {name}, and {prompt.tool_name} needs one", request_id=answer.request_id
        )
    return given


def _granted(answer: PermissionAnswer, prompt: PromptRow, place: PathContext) -> Rule | None:
    if answer.decision != v1.ALLOW_SESSION:
        if answer.grant_pattern:
            raise InvalidRequest("Only ALLOW_SESSION accepts a grant", request_id=answer.request_id)
        return None
    use = ToolUse.of(prompt.tool_name, prompt.input_json)
    pattern = answer.grant_pattern or exact_rule(use, place)
    if pattern is None and prompt.tool_name not in FOR_PEOPLE:
        raise InvalidRequest(
            f"No rule matches exactly this call of {prompt.tool_name}: allow it once, or set grant_pattern",
            request_id=answer.request_id,
        )
    rule = granting(pattern or prompt.tool_name, use, place)
    if isinstance(rule, str):
        raise InvalidRequest(rule, request_id=answer.request_id)
    return rule


def _sent_back(prompt: PromptRow) -> str:
    """The agent's own text; empty, so that it uses what it has, where that is nothing it could read."""
    try:
        json.loads(prompt.input_json, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return ""
    return prompt.input_json


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def json_value(text: str) -> object:
    """The value that strict JSON is; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def same_as_before(row: PromptRow, decision: PromptDecision) -> bool:
    """Whether an answered prompt was answered just so; False where it is still open. Words to a denial may differ.

    Raises:
        PermissionStale: it was answered differently, or cannot be answered any more.
    """
    match row.state:
        case PromptState.OPEN:
            return False
        case PromptState.ANSWERED:
            if _is_same(row, decision):
                return True
            raise answered_before(row)
        case PromptState.WITHDRAWN:
            raise PermissionStale("The agent has withdrawn this request", request_id=row.request_id)
        case PromptState.LOST:
            raise PermissionStale(
                "The agent that asked has exited. The next agent asks again when the session continues",
                request_id=row.request_id,
            )
        case PromptState.EXPIRED:
            raise PermissionStale("Permission request expired", request_id=row.request_id)
        case PromptState.SUPERSEDED:
            new = row.superseded_by
            raise PermissionStale(
                f"The agent has asked again since: answer {new} with betcode permission answer {new}"
                if new
                else "The agent has asked again since: see betcode permission list",
                request_id=row.request_id,
                superseded_by=row.superseded_by,
            )


def answered_before(row: PromptRow, question: str = "") -> PermissionStale:
    """Says who was quicker, when and with what; of one question, or of all that were asked together."""
    when = rfc3339_past(row.answered_ns)
    kind = f", {row.answered_by_type}" if row.answered_by_type else ""
    given = DECIDED.get(row.decision, row.decision) or "in part"
    if questions := [question] if question else list(row.answers):
        given = "; ".join(
            f"{shortened(one, _QUOTED)} {shortened(row.answers.get(one, ''), _QUOTED)}" for one in questions
        )
    return PermissionStale(
        f"Already answered by {row.answered_by or 'another client'}{kind} at {when}: {given}",
        request_id=row.request_id,
        answered_by=row.answered_by,
        answered_by_type=row.answered_by_type,
        answered_at=when,
        decision=row.decision,
    )


def _is_same(row: PromptRow, decision: PromptDecision) -> bool:
    return (
        _effect(row.decision) == _effect(decision.name)
        and dict(row.answers) == dict(decision.answers)
        and row.grant_pattern == decision.grant_pattern
        and json_value(row.updated_input) == json_value(decision.updated_input)
    )


def _effect(decision: str) -> str:
    return "DENY" if decision == "DENY_NO_INTERRUPT" else decision
