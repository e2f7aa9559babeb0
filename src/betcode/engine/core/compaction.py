"""Decisions about a compaction: whether it outlives its agent, and what the history says at its end."""

from __future__ import annotations

from collections.abc import Iterable

from betcode.domain.error_codes import ErrorCode
from betcode.domain.store.rows import InputKind, InputRow, InputState
from betcode.domain.values.identifiers import SessionId
from betcode.engine.core import events
from betcode.engine.core.view import RunView
from betcode.v1 import agent_pb2 as v1


def is_waiting(inputs: Iterable[InputRow]) -> bool:
    """Whether a compaction was requested that no agent has been given."""
    return any(row.kind is InputKind.COMPACTION and row.number == 0 for row in inputs)


def passes_to_next_agent(run: RunView, row: InputRow) -> bool:
    """Whether the next agent gets this compaction: an agent that was asked to end did not take it."""
    return row.state is InputState.ACCEPTED and run.asked_to_end and not run.stopped


def ends_with_agent(run: RunView, inputs: Iterable[InputRow]) -> bool:
    """Whether a compaction is open that no other agent continues: its end is no crash of a turn."""
    return any(row.kind is InputKind.COMPACTION and not passes_to_next_agent(run, row) for row in inputs)


def closing_events(session_id: SessionId, why: str, *, is_done: bool, rests: bool) -> list[v1.AgentEvent]:
    """The end of a compaction whose agent is gone. `is_done`: the agent had reported the new boundary."""
    if is_done:
        said = [events.turn_complete("end_turn")]
    else:
        error = events.error(
            ErrorCode.COMPACTION_FAILED, "Session compaction failed", session_id=session_id, reason=why
        )
        said = [error, events.turn_complete("error")]
    return [*said, events.status(v1.IDLE)] if rests else said
