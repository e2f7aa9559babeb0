"""Questions that an agent asks together, and the answers that people give to them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from betcode.domain.errors import InvalidRequest
from betcode.domain.store.rows import PromptKind, PromptRow
from betcode.v1 import agent_pb2 as v1

_LONGEST_WORDS = 64 * 1024  # characters: an agent reads them as part of its conversation


def questions_of(row: PromptRow) -> list[v1.UserQuestion]:
    """The questions of a group, in order."""
    if row.kind is not PromptKind.QUESTION:
        return []
    return [event.user_question for event in v1.AgentEventBatch.FromString(row.event).events]


def check_answers(row: PromptRow, answers: Mapping[str, str]) -> None:
    """Raises InvalidRequest where an answer belongs to no question of the group, is empty, too long or too many."""
    if row.kind is not PromptKind.QUESTION:
        raise InvalidRequest("This is a permission, not a question: allow or deny it")
    asked = {question.question: question for question in questions_of(row)}
    if not answers or any(text not in asked for text in answers):
        raise InvalidRequest("Answers are keyed by the exact text of the question", request_id=row.request_id)
    for text, answer in answers.items():
        refuse_if_long(answer, "answer", row.request_id)
        chosen = _chosen(asked[text], answer)
        if not any(label.strip() for label in chosen):
            raise InvalidRequest("An answer is empty: choose an option or use own words", request_id=row.request_id)
        if len(chosen) > 1 and not asked[text].multi_select:
            raise InvalidRequest("This question takes one answer: choose one option", request_id=row.request_id)


def refuse_if_long(words: str, called: str, request_id: str) -> None:
    """Raises InvalidRequest."""
    if len(words) > _LONGEST_WORDS:
        raise InvalidRequest(
            f"The {called} is longer than {_LONGEST_WORDS} characters: make it shorter", request_id=request_id[:100]
        )


def answers_text(row: PromptRow, answers: Mapping[str, str]) -> Mapping[str, str | tuple[str, ...]]:
    """The answers as an agent takes them: what came as a list goes on as one."""
    asked = {question.question: question for question in questions_of(row)}
    return {text: _said(asked.get(text), answer) for text, answer in answers.items()}


def _said(question: v1.UserQuestion | None, answer: str) -> str | tuple[str, ...]:
    listed = _listed(answer)
    if question is None or listed is None:
        return answer
    return listed if question.multi_select else listed[0]


def _chosen(question: v1.UserQuestion, answer: str) -> tuple[str, ...]:
    """The options that an answer names; what names none is one answer in own words."""
    listed = _listed(answer)
    if listed is not None:
        return listed
    labels = {option.label for option in question.options}
    parts = tuple(part.strip() for part in answer.split(","))
    return parts if answer not in labels and all(part in labels for part in parts) else (answer,)


def _listed(answer: str) -> tuple[str, ...] | None:
    if not answer.startswith("["):
        return None
    try:
        return tuple(msgspec.json.decode(answer, type=list[str])) or None
    except (msgspec.MsgspecError, UnicodeError):
        return None
