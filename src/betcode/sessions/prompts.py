"""Answers to prompts: what was decided, and whether it is the same as before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from betcode.domain.commands import AnswerPermission, AnswerQuestions, Behaviour
from betcode.domain.errors import FeatureNotAvailable, InvalidRequest, PermissionStale
from betcode.domain.rows import PromptKind, PromptRow, PromptState
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """A person's answer as it came in."""

    request_id: str
    decision: v1.PermissionDecision.ValueType
    message: str = ""
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer that can be applied."""

    value: v1.PermissionDecision.ValueType
    message: str = ""
    idempotency_key: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def allows(self) -> bool:
        return self.value == v1.ALLOW_ONCE

    @property
    def name(self) -> str:
        return v1.PermissionDecision.Name(self.value)

    def command(self, prompt: PromptRow) -> AnswerPermission | AnswerQuestions:
        """What the agent is told."""
        if self.answers:
            return AnswerQuestions(prompt.request_id, prompt.input_json, self.answers)
        behaviour = Behaviour.ALLOW if self.allows else Behaviour.DENY
        return AnswerPermission(prompt.request_id, behaviour, prompt.input_json, self.message)


def decision_in(row: PromptRow) -> Decision:
    """What an answered prompt was answered with, to be said to an agent that asks the same."""
    value = v1.PermissionDecision.Value(row.decision)
    return Decision(value, row.message, row.idempotency_key, row.answers)


def decide(answer: PermissionAnswer) -> Decision:
    """Raises InvalidRequest or FeatureNotAvailable where the answer cannot be applied as it is."""
    if answer.decision == v1.PERMISSION_DECISION_UNSPECIFIED:
        raise InvalidRequest("The answer has no decision: send ALLOW_ONCE or DENY", request_id=answer.request_id)
    if answer.decision not in (v1.ALLOW_ONCE, v1.DENY):
        if answer.decision not in v1.PermissionDecision.values():
            raise InvalidRequest("The decision is not known: send ALLOW_ONCE or DENY", request_id=answer.request_id)
        raise FeatureNotAvailable(f"The decision {v1.PermissionDecision.Name(answer.decision)}")
    return Decision(answer.decision, answer.message, answer.idempotency_key)


def same_as_before(row: PromptRow, decision: Decision) -> bool:
    """Whether an answered prompt was answered just so; False where it is still open.

    Raises:
        PermissionStale: it was answered differently, or cannot be answered any more.
    """
    match row.state:
        case PromptState.OPEN:
            return False
        case PromptState.ANSWERED:
            if row.decision == decision.name and dict(row.answers) == dict(decision.answers):
                return True
            raise PermissionStale(
                f"Already answered {row.decision} by {row.answered_by or 'another client'}",
                request_id=row.request_id,
                answered_by=row.answered_by,
                decision=row.decision,
            )
        case PromptState.WITHDRAWN:
            raise PermissionStale("The agent has withdrawn this request", request_id=row.request_id)
        case PromptState.LOST:
            raise PermissionStale(
                "The agent that asked is gone; it asks again when the session goes on", request_id=row.request_id
            )
        case PromptState.EXPIRED:
            raise PermissionStale("Nobody answered this request in time", request_id=row.request_id)
        case PromptState.SUPERSEDED:
            raise PermissionStale(
                "The agent has asked otherwise since: answer that request",
                request_id=row.request_id,
                superseded_by=row.superseded_by,
            )


def questions_of(row: PromptRow) -> list[str]:
    """The texts of the questions of a group, in order."""
    if row.kind is not PromptKind.QUESTION:
        return []
    shown = v1.AgentEventBatch.FromString(row.event)
    return [event.user_question.question for event in shown.events]
