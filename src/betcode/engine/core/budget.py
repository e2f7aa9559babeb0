"""Decisions about a session's budget: which messages wait for a person, and when the question is withdrawn."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.sessions.budget import reached
from betcode.domain.store.changes import SavePrompt
from betcode.domain.store.rows import InputKind, InputRow, PromptRow, PromptState, SessionState
from betcode.domain.values.identifiers import SessionId
from betcode.engine.core import events
from betcode.engine.core.decision import Decision
from betcode.engine.core.orphaned_prompts import audit_change


def is_reached(state: SessionState) -> bool:
    """Whether a limit is reached, so that no message goes to the agent."""
    return bool(state.budget) and bool(reached(state.budget, state.spent))


def undelivered(inputs: Iterable[InputRow]) -> list[InputRow]:
    """The messages that no agent was ever given; any other belongs to a turn that has begun."""
    return [row for row in inputs if row.kind is InputKind.MESSAGE and row.number == 0]


def waits_for_person(prompt: PromptRow | None, row: InputRow) -> bool:
    """Whether this message waits for the answer to the open question, so that no turn begins with it by itself."""
    return prompt is not None and row.kind is InputKind.MESSAGE and row.number == 0


def withdraw_question(
    session_id: SessionId, prompt: PromptRow | None, why: str, now_ns: int, by: DecidedBy = DecidedBy.PERSON
) -> Decision:
    """Close the open question without an answer; nothing where none is open."""
    if prompt is None:
        return Decision()
    entry = audit_change(session_id, prompt, "withdrawn", by, now_ns, note=why)
    return Decision(
        (events.resolved(prompt.request_id, "withdrawn", message=why),),
        (SavePrompt(replace(prompt, state=PromptState.WITHDRAWN, message=why)), entry),
    )


def withdraw_if_nothing_waits(
    session_id: SessionId,
    prompt: PromptRow | None,
    inputs: Iterable[InputRow],
    given_up: Container[str],
    why: str,
    now_ns: int,
    by: DecidedBy = DecidedBy.AGENT,
) -> Decision:
    """Close the open question where every message that waits for its answer is given up."""
    if any(row.input_id not in given_up for row in undelivered(inputs)):
        return Decision()
    return withdraw_question(session_id, prompt, why, now_ns, by)
