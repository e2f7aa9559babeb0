"""Whether a limit of the budget is reached, and which messages wait for a person because of it."""

from __future__ import annotations

from collections.abc import Iterable

from betcode.domain.sessions.budget import reached
from betcode.domain.store.rows import InputKind, InputRow, PromptRow, SessionState


def is_reached(state: SessionState) -> bool:
    """Whether a limit is reached, so that no message goes to the agent."""
    return bool(state.budget) and bool(reached(state.budget, state.spent))


def undelivered(inputs: Iterable[InputRow]) -> list[InputRow]:
    """The messages that no agent was ever given; any other belongs to a turn that has begun."""
    return [row for row in inputs if row.kind is InputKind.MESSAGE and row.number == 0]


def waits_for_person(prompt: PromptRow | None, row: InputRow) -> bool:
    """Whether this message waits for the answer to the open question, so that no turn begins with it by itself."""
    return prompt is not None and row.kind is InputKind.MESSAGE and row.number == 0
