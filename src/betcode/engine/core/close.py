"""Decide what closing a session ends: its prompts, the messages that no agent has, and the wait for another agent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import RunStimulus
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.status import SessionStimulus, advance
from betcode.domain.store.changes import Change, MoveInput, SaveBinding
from betcode.domain.store.rows import InputKind, InputState
from betcode.domain.values.identifiers import SessionKey
from betcode.engine.core import budget, events, orphaned_prompts
from betcode.engine.core.decision import CloseInputLock, Decision, FinishCompaction, ForbidStart, StopRetry
from betcode.engine.core.exit.retry import end_backoff
from betcode.engine.core.view import RunView, SessionView
from betcode.v1 import agent_pb2 as v1

STOPPED, FAILED = "SESSION_STOPPED", "SESSION_FAILED"


@dataclass(frozen=True, slots=True)
class CloseFacts:
    """The session that is closed, and its binding."""

    key: SessionKey
    binding: SessionBinding
    failure: str = ""  # the error that it is closed for; empty: a person closes it


def close_session(session: SessionView, run: RunView | None, facts: CloseFacts, now_ns: int) -> Decision:
    """End everything that is open. What the agent has been given ends with the agent."""
    words = session.closed_reason
    ended = orphaned_prompts.withdraw_prompts(
        session.session_id,
        [*session.prompts.values(), *session.orphaned.values()],
        words,
        now_ns,
        DecidedBy.PERSON,
        session.stopped_by,
    )
    question = budget.withdraw_question(session.session_id, session.budget_prompt, words, now_ns)
    holder = None if run is None else run.row.key
    waiting = [row for row in session.inputs.values() if row.number == 0 or row.run != holder]
    changes: list[Change] = [*ended.changes, *question.changes]
    changes += end_backoff(session.backing_off, RunStimulus.GIVEN_UP)
    changes += [MoveInput(row.session, row.input_id, InputState.CANCELLED) for row in waiting]
    binding = replace(facts.binding, ended_ns=now_ns, failure=facts.failure, stop_by_ns=0)
    new_events = [*ended.said, *question.events]
    new_events += [
        events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, words)
        for row in waiting
        if row.kind is InputKind.MESSAGE
    ]
    event = {"event": FAILED, "reason": facts.failure} if facts.failure else {"event": STOPPED}
    new_events.append(events.notice(v1.NOTICE_KIND_RUN, words.capitalize(), **event))
    return Decision(
        tuple(new_events),
        (*changes, SaveBinding(facts.key, binding)),
        {"status": advance(session.state.status, SessionStimulus.CLOSED)},
        (StopRetry(), FinishCompaction(words), ForbidStart(), CloseInputLock()),
    )
