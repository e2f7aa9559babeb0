"""Decide what follows from the end of an agent process: events, changes, and what the shell does next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import RunStimulus, advance
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd, TurnOutcome
from betcode.domain.store.changes import Change, MoveInput, SaveRun
from betcode.domain.store.rows import (
    NO_CRASHES,
    OPENS_TURN,
    InputKind,
    InputState,
    PromptRow,
    RunRow,
    SessionState,
)
from betcode.engine.core import budget, compaction, events, orphaned_prompts
from betcode.engine.core.decision import (
    Advance,
    Decision,
    DetachRun,
    Effect,
    FinishCompaction,
    ForbidStart,
    ReleaseSlot,
    RetryAfter,
    StateFields,
    StopRetry,
)
from betcode.engine.core.exit import messages as exit_messages
from betcode.engine.core.exit.classify import ExitFacts, RunExit, is_left
from betcode.engine.core.exit.retry import end_backoff
from betcode.engine.core.status import pause_after_agent
from betcode.engine.core.view import SessionView
from betcode.v1 import agent_pb2 as v1

_SHOWN = {
    InputState.CONSUMED: v1.MESSAGE_STATE_CONSUMED,
    InputState.CANCELLED: v1.MESSAGE_STATE_CANCELLED,
    InputState.UNKNOWN: v1.MESSAGE_STATE_UNKNOWN,
}
_STOPPED = "the daemon was stopped together with its agents"
_NOTHING_WAITS = "The messages that waited for the answer are discarded"


def exit_effects(facts: ExitFacts, end: RunExit, voided: Sequence[v1.AgentEvent], now_ns: int) -> Decision:
    """Events, changes and fields of the session because its agent is gone.

    `voided` takes back words that the next agent repeats.
    """
    session = facts.session
    given_up = _give_up(session, end, now_ns)
    said = list(given_up.events)
    active = session.state.status is SessionStatus.ACTIVE
    fields = StateFields()
    is_owed = _goes_on(session, end)
    rests = active and (end.stopped or not is_owed)
    if end.stopped and is_owed and (end.after_cancel or _ends_compaction(session, end)):
        said.append(exit_messages.waiting_notice())
    if end.after_cancel:
        said += exit_messages.cancel_events(end, rests=rests)
        fields["crashes"] = NO_CRASHES
        if end.cancelled:
            fields["transcript"] = session.state.transcript.after(TurnOutcome.ABANDONED)
        if rests:
            fields["status"] = SessionStatus.IDLE
    elif not end.crashed and _ends_compaction(session, end):
        why = _STOPPED if end.stopped else _why(session, end)
        said += compaction.closing_events(session.session_id, why, is_done=facts.compaction_done, rests=rests)
        if rests:
            fields["status"] = SessionStatus.IDLE
    elif end.crashed:
        said += voided
        said += exit_messages.crash_events(session.info, end)
        fields |= _transcript_fields(session.state, end)
        fields["crashes"] = end.crashes if end.retry_in_s is not None else NO_CRASHES
        if end.retry_in_s is None and active:
            fields["status"] = SessionStatus.IDLE
    elif end.stopped and active:
        said += exit_messages.stop_events()
        fields["status"] = SessionStatus.IDLE
        if end.spoke:
            fields["transcript"] = session.state.transcript.after(TurnOutcome.BROKE_OFF)
    elif end.advice:
        said.append(events.notice(v1.NOTICE_KIND_RUN, f"The agent ended ({end.note}). What to do: {end.advice}"))
    return Decision(tuple(said), given_up.changes, fields)


@dataclass(frozen=True, slots=True)
class TurnRecords:
    """What was read of the turn that the agent leaves."""

    voided: Sequence[v1.AgentEvent] = ()  # take back words that the next agent repeats
    answered: Sequence[PromptRow] = ()  # prompts that were answered in the turn; read where the turn is continued
    cut_off: Sequence[v1.AgentEvent] = ()  # the ends of what the agent was saying; read where the turn is cancelled


def on_exit(facts: ExitFacts, end: RunExit, turn: TurnRecords, now_ns: int) -> Decision:
    """All that follows from the end of the agent, for its session, its prompts and its row."""
    session, run = facts.session, facts.run
    done = exit_effects(facts, end, turn.voided, now_ns)
    if why := reason_not_continued(session, end, done.fields):
        prompts = withdraw_all(session, end, why, now_ns)
    else:
        prompts = orphan_prompts(facts, turn.answered)
    row = _ended(run.row, end, now_ns)
    changes = [*prompts.changes, *done.changes]
    if row.key:
        changes.append(SaveRun(row))
    if end.retry_in_s is None:
        changes += end_backoff(session.backing_off, RunStimulus.GIVEN_UP)  # it could not be followed by this one
    return Decision(
        (*turn.cut_off, *prompts.said, *done.events),
        tuple(changes),
        done.fields | pause_after_agent(session.state, now_ns),
        (
            FinishCompaction("it was cancelled" if end.after_cancel else end.note),
            DetachRun(),
            ReleaseSlot(),
            *_what_is_next(row, end),
            Advance(),
        ),
    )


def _ended(row: RunRow, end: RunExit, now_ns: int) -> RunRow:
    state = row.state
    for stimulus in end.stimuli:
        state = advance(state, stimulus)
    return replace(row, state=state, ended_ns=now_ns, exit_note=end.note)


def _what_is_next(row: RunRow, end: RunExit) -> tuple[Effect, ...]:
    """Another agent after a wait, or none by itself after a crash."""
    if end.retry_in_s is not None:
        return (RetryAfter(row, end.retry_in_s),)
    return (StopRetry(), ForbidStart()) if end.crashed else ()


def continues_turn(facts: ExitFacts, end: RunExit, now_ns: int) -> bool:
    """Whether another agent continues the turn of the ended one, at once or with the next message."""
    return not reason_not_continued(facts.session, end, exit_effects(facts, end, (), now_ns).fields)


def reason_not_continued(session: SessionView, end: RunExit, fields: StateFields) -> str:
    """Why no agent continues the turn of the ended one; empty if one does, at once or with the next message."""
    if end.after_cancel:
        return orphaned_prompts.CANCELLED
    if session.is_closed:
        return session.closed_reason
    transcript = fields.get("transcript", session.state.transcript)
    interrupted = transcript.turn_interrupted
    if end.lost:
        return orphaned_prompts.GIVEN_UP
    if end.retry_in_s is not None or (interrupted and session.capabilities.continues_broken_turn):
        return ""
    return orphaned_prompts.GIVEN_UP if end.crashed else orphaned_prompts.NOT_CONTINUED


def withdraw_all(session: SessionView, end: RunExit, why: str, now_ns: int) -> orphaned_prompts.PromptEffects:
    """Withdraw every prompt of the session, because no agent continues the turn."""
    open_prompts = [*session.prompts.values(), *session.orphaned.values()]
    by = DecidedBy.PERSON if end.after_cancel or session.is_closed else DecidedBy.AGENT
    return orphaned_prompts.withdraw_prompts(session.session_id, open_prompts, why, now_ns, by, session.stopped_by)


def orphan_prompts(facts: ExitFacts, answered: Sequence[PromptRow]) -> orphaned_prompts.PromptEffects:
    """The prompts that pass to the next agent of the turn. `answered`: those that the turn had answered so far."""
    session = facts.session
    return orphaned_prompts.orphan(session.prompts, session.inputs.values(), answered, is_whole=facts.exit is not None)


def _give_up(session: SessionView, end: RunExit, now_ns: int) -> Decision:
    """The inputs that are given up, and the budget's question where no other message waits for it."""
    said: list[v1.AgentEvent] = []
    changes: list[Change] = []
    for input_id, state in end.fates.items():
        row = session.inputs[input_id]
        changes.append(MoveInput(row.session, row.input_id, state))
        if row.kind is InputKind.MESSAGE:
            reason = "cancelled" if end.after_cancel else _why(session, end)
            said.append(events.message_state(row.input_id, _SHOWN[state], reason))
    question = budget.withdraw_if_nothing_waits(
        session.session_id, session.budget_prompt, session.inputs.values(), end.fates, _NOTHING_WAITS, now_ns
    )
    return Decision((*said, *question.events), (*changes, *question.changes))


def _why(session: SessionView, end: RunExit) -> str:
    """How an agent ends that was asked to is no news: who closed its session is."""
    return session.closed_reason if session.is_closed else end.note


def _transcript_fields(state: SessionState, end: RunExit) -> StateFields:
    """What is believed of the agent's transcript, and of the turn in it, after a crash."""
    if end.has_conversation is not None:
        there = state.transcript.after(TurnOutcome.BROKE_OFF)
        return {
            "conversation_began": end.has_conversation,
            "transcript": there if end.has_conversation else TranscriptEnd.FINISHED,
        }
    # A turn that was given up is not begun again behind the next message.
    given_up = bool(end.advice) or end.too_many or bool(end.lost)
    # An agent may take a message up and die before its first word; the next one then calls the message known.
    if not (state.turn_interrupted or end.spoke or end.was_given_messages):
        return {}
    return {"transcript": state.transcript.after(TurnOutcome.ABANDONED if given_up else TurnOutcome.BROKE_OFF)}


def _ends_compaction(session: SessionView, end: RunExit) -> bool:
    return any(session.inputs[name].kind is InputKind.COMPACTION for name in end.fates)


def _goes_on(session: SessionView, end: RunExit) -> bool:
    """Whether a message or a compaction remains for the next agent."""
    return any(row.kind in OPENS_TURN and is_left(session, end, row) for row in session.inputs.values())
