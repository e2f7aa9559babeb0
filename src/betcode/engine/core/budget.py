"""Decisions about a session's budget: refuse a message, ask a person, raise a limit, or cancel what waits.

The budget's question is a prompt that no agent asks. At most one is open in a session.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from betcode.domain.errors import BudgetExceeded, InvalidRequest
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.sessions.budget import Budget, OnReached, describe, limited, raised, reached
from betcode.domain.sessions.budget_state import is_reached, undelivered
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import Change, MoveInput, SavePrompt
from betcode.domain.store.rows import InputRow, InputState, PromptKind, PromptRow, PromptState, SessionState
from betcode.domain.values.identifiers import Seq, SessionId, SessionKey
from betcode.engine.client_name import ClientName
from betcode.engine.core import events
from betcode.engine.core.answer import decision_changes
from betcode.engine.core.capability_checks import unmeasured_limits_notice
from betcode.engine.core.decision import Advance, AllowStart, Decision, Effect, StateFields
from betcode.engine.core.orphaned_prompts import audit_change
from betcode.engine.core.prompt_decision import PromptDecision
from betcode.engine.core.state import NO_RUN
from betcode.engine.core.status import status_after, turn_opened
from betcode.engine.core.view import RunView, SessionView
from betcode.v1 import agent_pb2 as v1

TOOL_NAME = "Budget"
NOT_RAISED = "the budget is used up and was not raised"
CHANGED = "the budget was changed"
WAITS = "Waiting for a person to raise the budget"


def refuse_if_exceeded(session: SessionView) -> None:
    """Raises BudgetExceeded if a limit is reached and the session refuses messages then."""
    state = session.state
    if state.budget.on_reached is OnReached.REFUSE and is_reached(state):
        names = reached(state.budget, state.spent)
        raise BudgetExceeded(
            f"The session's budget is used up ({figures(state)}): raise it with SetBudget or "
            f"betcode session budget {session.session_id}",
            session_id=session.session_id,
            reached=",".join(names),
            limit=describe(state.budget.limits, names),
            spent=describe(state.spent, names),
        )


def waiting_events(rows: Iterable[InputRow]) -> list[v1.AgentEvent]:
    """Tell the senders of these messages that they wait for a person."""
    return [events.message_state(row.input_id, v1.MESSAGE_STATE_ACCEPTED, WAITS) for row in rows]


def figures(state: SessionState) -> str:
    """What was spent and what is allowed, of the limits that are reached."""
    names = reached(state.budget, state.spent)
    return f"{describe(state.spent, names)} spent, {describe(state.budget.limits, names)} allowed"


# ---------------------------------------------------------------- a limit is reached


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """What `on_reached` needs beside the session and its agent."""

    session: SessionKey
    request_id: str  # of the question, if one is asked
    now_ns: int
    is_compacting: bool = False


def is_due(session: SessionView) -> bool:
    """Whether a limit is reached and followers were not notified, or messages wait that nobody was asked about."""
    budget = session.state.budget
    if session.is_closed or not is_reached(session.state):
        return False
    if not budget.told:
        return True
    is_asked = budget.on_reached is OnReached.ASK and session.budget_prompt is not None
    return bool(undelivered(session.inputs.values())) and not is_asked


def on_reached(session: SessionView, run: RunView | None, facts: LimitFacts) -> Decision:
    """Notify followers once. Then ask a person about the messages that wait, or cancel them."""
    state, prompt = session.state, session.budget_prompt
    budget, waiting = state.budget, undelivered(session.inputs.values())
    refuses = bool(waiting) and budget.on_reached is OnReached.REFUSE
    asks = bool(waiting) and not refuses and prompt is None
    turn_open = run is not None and run.turn_open
    said: list[v1.AgentEvent] = []
    changes: list[Change] = []
    if not budget.told:
        shown = "" if asks else f" ({figures(state)})"  # the question that follows has them
        message = f"The budget is used up{shown}: betcode {_at_limit(budget)} the next message"
        said.append(_notice(message, *reached(budget, state.spent)))
    if refuses:
        rests = not turn_open and not facts.is_compacting
        done = cancel_waiting(session, NOT_RAISED, facts.now_ns, rests=rests)
        said += done.events
        changes += done.changes
        prompt = None
    elif asks:
        prompt, question = _question(state, facts, Seq(state.last_seq + 1 + len(said)))
        said += [question, *waiting_events(waiting)]
        changes.append(SavePrompt(prompt))
        if not turn_open:
            said.append(events.status(v1.WAITING_FOR_USER))
    dropped = {row.input_id for row in waiting} if refuses else set()
    left = [row for row in session.inputs.values() if row.input_id not in dropped]
    is_busy = run is not None and run.turn_open and not run.is_leaving
    status = status_after(state.status, left, prompt, turn_open=is_busy)
    return Decision(tuple(said), tuple(changes), {"budget": replace(budget, told=True), "status": status})


def _question(state: SessionState, facts: LimitFacts, seq: Seq) -> tuple[PromptRow, v1.AgentEvent]:
    names = reached(state.budget, state.spent)
    after = raised(state.budget, state.spent)
    shown = {
        "reached": list(names),
        "spent": describe(state.spent, names),
        "limit": describe(state.budget.limits, names),
        "limit_if_allowed": describe(after.limits, names),
    }
    what = f"{shown['spent']} of {shown['limit']} spent: raise the budget to {shown['limit_if_allowed']}?"
    event = events.permission_request(facts.request_id, TOOL_NAME, what, json.dumps(shown))
    events.stamp(event, facts.now_ns)
    row = PromptRow(
        request_id=facts.request_id,
        session=facts.session,
        run=NO_RUN,
        kind=PromptKind.PERMISSION,
        tool_name=TOOL_NAME,
        input_json=event.permission_request.input_json,
        event=event.SerializeToString(),
        seq=seq,
        asked_ns=event.timestamp.ToNanoseconds(),
    )
    return row, event


# ---------------------------------------------------------------- the end of a question


def on_answer(
    session: SessionView,
    prompt: PromptRow,
    decision: PromptDecision,
    client: ClientName,
    now_ns: int,
    *,
    rests: bool,
) -> Decision:
    """Raise the limits that are reached by the same amount again, or cancel the messages that wait.

    Raises:
        InvalidRequest: the answer is neither ALLOW_ONCE nor DENY.
    """
    if decision.grant is not None or decision.updated_input:
        raise InvalidRequest("A budget prompt accepts only ALLOW_ONCE or DENY")
    answered, entry = decision_changes(session.session_id, prompt, decision, client, now_ns)
    done = Decision((events.answered(prompt.request_id, decision, client),), (SavePrompt(answered), entry))
    if not decision.allows:
        done = _both(done, drop_waiting(session, decision.message or NOT_RAISED, rests=rests))
        return replace(done, effects=(Advance(),))
    state = session.state
    after = raised(state.budget, state.spent)
    names = reached(state.budget, state.spent)
    notice = _notice(f"The budget was raised to {describe(after.limits, names)}")
    fields: StateFields = {"budget": after, "status": _status_without_question(session)}
    return Decision((*done.events, notice), done.changes, fields, (AllowStart(), Advance()))


def on_change(session: SessionView, budget: Budget, now_ns: int) -> Decision:
    """Set other limits. An open question names the old ones: it is withdrawn, and asked again if they are reached."""
    said = [_notice(_description(budget))]
    if note := unmeasured_limits_notice(budget, session.info.provider, session.capabilities):
        said.append(_notice(note))
    done = withdraw_question(session.session_id, session.budget_prompt, CHANGED, now_ns)
    is_open = session.budget_prompt is not None
    status = _status_without_question(session) if is_open else session.state.status
    effects: tuple[Effect, ...] = (AllowStart(), Advance()) if is_open else (Advance(),)
    return Decision((*said, *done.events), done.changes, {"budget": budget, "status": status}, effects)


def cancel_waiting(session: SessionView, why: str, now_ns: int, *, rests: bool) -> Decision:
    """Withdraw the open question, and cancel the messages that wait for a person."""
    withdrawn = withdraw_question(session.session_id, session.budget_prompt, why, now_ns)
    return _both(withdrawn, drop_waiting(session, why, rests=rests))


def drop_waiting(session: SessionView, why: str, *, rests: bool) -> Decision:
    """Cancel the messages that wait for a person. `rests`: no turn and no compaction is under way."""
    rows = undelivered(session.inputs.values())
    said = [events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, why) for row in rows]
    if rests:
        said.append(events.status(v1.IDLE))
    return Decision(tuple(said), tuple(MoveInput(row.session, row.input_id, InputState.CANCELLED) for row in rows))


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


def _status_without_question(session: SessionView) -> SessionStatus:
    """The status once the question is closed: a turn begins with the messages that waited for the answer."""
    status = session.state.status
    return turn_opened(status) if undelivered(session.inputs.values()) else status


def _both(first: Decision, second: Decision) -> Decision:
    return Decision((*first.events, *second.events), (*first.changes, *second.changes))


def _notice(message: str, *names: str) -> v1.AgentEvent:
    details = {"reached": ",".join(names)} if names else {}
    return events.notice(v1.NOTICE_KIND_BUDGET, message, **details)


def _description(budget: Budget) -> str:
    if not budget:
        return "The session no longer has a budget"
    shown = describe(budget.limits, limited(budget))
    return f"The budget is {shown}; at the limit betcode {_at_limit(budget)} the next message"


def _at_limit(budget: Budget) -> str:
    return "refuses" if budget.on_reached is OnReached.REFUSE else "asks before"
