"""Decide what a cancel does: which messages it ends, what the agent is told, and when the next step is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import CancelStep, RunStimulus
from betcode.domain.sessions.status import SessionStimulus, advance
from betcode.domain.sessions.transcript import TranscriptEnd, TurnOutcome
from betcode.domain.store.changes import AddInput, Change, MoveInput, SaveRun
from betcode.domain.store.rows import NO_CRASHES, OPENS_TURN, InputKind, InputRow, InputState, RunRow, SessionState
from betcode.engine.core import compaction, events, orphaned_prompts
from betcode.engine.core.budget import withdraw_if_nothing_waits
from betcode.engine.core.decision import (
    Advance,
    Decision,
    Effect,
    EscalateCancel,
    FinishCompaction,
    RefuseInputs,
    ReleaseSlot,
    Settle,
    StateFields,
    StopRetry,
)
from betcode.engine.core.exit.retry import end_backoff
from betcode.engine.core.status import status_after
from betcode.engine.core.view import RunView, SessionView
from betcode.v1 import agent_pb2 as v1

CANCELLED, WITHDRAWN = "cancelled", "withdrawn"  # why a message gets no answer
_NOBODY_WAITS = "The messages that waited for the answer were withdrawn"

# ---------------------------------------------------------------- a request to cancel


class CancelTarget(Enum):
    COMPACTION = "a compaction that no agent has been given"
    MESSAGES = "messages that wait, with no agent at work"
    AGENT = "the turn of an agent"


def target_of(session: SessionView, run: RunView | None) -> CancelTarget:
    """What a cancel now would stop."""
    if compaction.is_waiting(session.inputs.values()):
        return CancelTarget.COMPACTION
    works = not session.at_rest and run is not None and is_at_work(session, run)
    return CancelTarget.AGENT if works else CancelTarget.MESSAGES


def waiting_messages(session: SessionView, run: RunView | None) -> list[InputRow]:
    """The messages that no agent has, or only one that makes way."""
    holder = None if run is None or run.is_leaving else run.row.key
    return [row for row in session.messages if row.run is None or row.run != holder]


def is_at_work(session: SessionView, run: RunView) -> bool:
    """Whether there is a turn that this agent can be asked to stop."""
    if run.is_leaving or not run.row.key:
        return False
    answers = any(row.kind is InputKind.ANSWER for row in session.inputs.values())
    return run.turn_open or session.unconsumed(run) or answers or session.state.turn_interrupted


def already_begun(state: SessionState, waiting: Iterable[InputRow]) -> list[InputRow]:
    """The waiting messages that an earlier agent had begun to answer: the turn that is continued."""
    return [row for row in waiting if row.number] if state.turn_interrupted else []


def is_whole_turn(session: SessionView, run: RunView | None, row: InputRow) -> bool:
    """Whether the turn that is to begin consists of this waiting message alone."""
    if target_of(session, run) is not CancelTarget.MESSAGES or session.at_rest:
        return False
    return not any(each.kind in OPENS_TURN and each.input_id != row.input_id for each in session.inputs.values())


@dataclass(frozen=True, slots=True)
class CancelDecision:
    """What a request to cancel comes to."""

    was_active: bool
    dropped: tuple[InputRow, ...] = ()  # inputs that no agent will get
    decision: Decision = field(default_factory=Decision)

    @property
    def withdrawn(self) -> tuple[str, ...]:
        return tuple(row.input_id for row in self.dropped if row.kind is InputKind.MESSAGE)


def cancel(
    session: SessionView, run: RunView | None, interrupt: InputRow | None, now_ns: int, *, cancel_queued: bool
) -> CancelDecision:
    """Cancel whatever a cancel stops now. `interrupt` tells the agent to stop; None: it takes no interrupt."""
    target = target_of(session, run)
    if target is CancelTarget.COMPACTION:
        return cancel_compaction(session, run, cancel_queued=cancel_queued)
    if target is CancelTarget.AGENT and run is not None:
        return cancel_agent(session, run, interrupt, cancel_queued=cancel_queued)
    return cancel_messages(session, run, waiting_messages(session, run), now_ns, cancel_queued=cancel_queued)


def cancel_agent(
    session: SessionView, run: RunView, interrupt: InputRow | None, *, cancel_queued: bool
) -> CancelDecision:
    """Stop the turn of the agent at work. A second cancel moves to the next step, and may widen the first."""
    waiting = waiting_messages(session, run)
    # What an agent before had begun is this one's turn, given to it or not: its end comes with the turn's.
    begun = {row.input_id for row in already_begun(session.state, waiting)}
    dropped = tuple(row for row in waiting if row.input_id not in begun) if cancel_queued else ()
    is_repeated = run.row.cancel_step is not CancelStep.NONE
    row = replace(run.row, cancel_queued=cancel_queued or run.row.cancel_queued)
    told: tuple[Change, ...] = ()
    if interrupt is None:
        row = row if is_repeated else replace(row, cancel_step=CancelStep.SIGNALLED)
    elif not is_repeated or (row.cancel_step is CancelStep.INTERRUPTED and row != run.row):
        row = replace(row, cancel_step=CancelStep.INTERRUPTED)
        told = (AddInput(interrupt),)
    ends: tuple[Effect, ...] = (RefuseInputs(),) if row.cancel_step.ends_agent else ()
    done = withdraw_messages(dropped)
    decision = Decision(
        done.events,
        (*done.changes, SaveRun(row), *told),
        effects=(*ends, EscalateCancel(insists=is_repeated), Advance()),
    )
    return CancelDecision(True, dropped, decision)


def cancel_messages(
    session: SessionView,
    run: RunView | None,
    waiting: Sequence[InputRow],
    now_ns: int,
    *,
    cancel_queued: bool,
    why: str = CANCELLED,
) -> CancelDecision:
    """Cancel where no agent works: what a crashed one had begun, else the first waiting message, is the turn.

    At rest messages wait too, once the turn was given up: only `cancel_queued` drops those.
    """
    was_active = not session.at_rest and bool(waiting)
    turn = (already_begun(session.state, waiting) or waiting[:1]) if was_active else []
    dropped = tuple(waiting if cancel_queued else turn)
    if not dropped:
        return CancelDecision(was_active=False)
    ended = orphaned_prompts.withdraw_prompts(
        session.session_id,
        session.orphaned.values(),
        orphaned_prompts.CANCELLED,
        now_ns,
        DecidedBy.PERSON,
        session.stopped_by,
    )
    done = withdraw_messages(dropped, why)
    said = [*ended.said, *done.events]
    changes = [*done.changes, *ended.changes]
    effects: list[Effect] = []
    if run is not None and not run.row.key:
        effects.append(RefuseInputs())  # it is only being prepared, and may be asked to continue the cancelled turn
    rests = was_active and len(dropped) == len(waiting)
    if was_active:
        said.append(events.turn_complete("cancelled", [row.input_id for row in turn]))
        changes += end_backoff(session.backing_off, RunStimulus.GIVEN_UP)
        effects.append(StopRetry())
    if rests:
        said.append(events.status(v1.IDLE))
    if rests or session.at_rest:
        effects.append(ReleaseSlot())
    fields: StateFields = {
        "transcript": transcript_without(session.state.transcript, dropped),
        "crashes": NO_CRASHES,
        "status": advance(session.state.status, SessionStimulus.TURN_CLOSED) if rests else session.state.status,
    }
    return CancelDecision(was_active, dropped, Decision(tuple(said), tuple(changes), fields, (*effects, Advance())))


def cancel_compaction(session: SessionView, run: RunView | None, *, cancel_queued: bool) -> CancelDecision:
    """Cancel a compaction that no agent has been given; messages behind it stay, unless they are cancelled too."""
    messages = waiting_messages(session, run) if cancel_queued else []
    compactions = [row for row in session.inputs.values() if row.kind is InputKind.COMPACTION]
    done = withdraw_messages(messages)
    moved = (MoveInput(row.session, row.input_id, InputState.CANCELLED) for row in compactions)
    said = [*done.events, events.turn_complete("cancelled")]
    effects: list[Effect] = [FinishCompaction("it was cancelled")]
    status = session.state.status
    if not any(row not in messages for row in session.messages):  # no message remains
        status = advance(status, SessionStimulus.TURN_CLOSED)
        said.append(events.status(v1.IDLE))
        effects.append(ReleaseSlot())
    decision = Decision(tuple(said), (*done.changes, *moved), {"status": status}, (*effects, Advance()))
    return CancelDecision(True, (*compactions, *messages), decision)


def withdraw_one(session: SessionView, run: RunView | None, row: InputRow, now_ns: int) -> Decision:
    """Take back a message that no agent has. Where the turn to begin consists of it, that turn is cancelled."""
    if is_whole_turn(session, run, row):
        return cancel_messages(session, run, [row], now_ns, cancel_queued=False, why=WITHDRAWN).decision
    others = [each for each in session.inputs.values() if each.input_id != row.input_id]
    turn_open = run is not None and run.turn_open
    done = withdraw_messages([row], WITHDRAWN)
    question = withdraw_if_nothing_waits(
        session.session_id,
        session.budget_prompt,
        session.inputs.values(),
        {row.input_id},
        _NOBODY_WAITS,
        now_ns,
        DecidedBy.PERSON,
    )
    said = [*done.events, *question.events]
    if question.events and not turn_open and not session.is_compacting:
        said.append(events.status(v1.IDLE))
    is_leaving = run is not None and run.is_leaving
    fields: StateFields = {
        "status": status_after(
            session.state.status, others, session.budget_prompt, turn_open=turn_open and not is_leaving
        ),
        "transcript": transcript_without(session.state.transcript, [row]),
    }
    return Decision(tuple(said), (*done.changes, *question.changes), fields, (Settle(),))


def transcript_without(transcript: TranscriptEnd, dropped: Iterable[InputRow]) -> TranscriptEnd:
    """How the agent's transcript ends once these messages are given up: one that an agent was given may be in it."""
    was_given = transcript.turn_interrupted or any(row.number for row in dropped)
    return transcript.after(TurnOutcome.ABANDONED) if was_given else transcript


def withdraw_messages(rows: Sequence[InputRow], why: str = CANCELLED) -> Decision:
    """The events and changes of messages that no agent will answer."""
    changes: tuple[Change, ...] = tuple(MoveInput(row.session, row.input_id, InputState.CANCELLED) for row in rows)
    return Decision(tuple(events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, why) for row in rows), changes)


# ---------------------------------------------------------------- the steps of a cancel


@dataclass(frozen=True, slots=True)
class CancelTimes:
    """How long each step may take, in seconds."""

    interrupt_s: float
    sigint_s: float
    term_s: float
    insist_s: float  # a second cancel within this time is the same one


@dataclass(frozen=True, slots=True)
class WaitForAgent:
    """Wait for the end of the turn, and then take the next step. `signals`: send SIGINT first."""

    wait_s: float
    then: CancelStep
    signals: bool = False


@dataclass(frozen=True, slots=True)
class EndAgent:
    """Have the holder end the agent, with SIGKILL after this time."""

    grace_s: float
    nothing_open: bool  # its turn is over, so that the end of its input is enough


def plan_step(step: CancelStep, times: CancelTimes) -> WaitForAgent | EndAgent | None:
    """What to do in this step; None: nothing is being cancelled."""
    match step:
        case CancelStep.NONE:
            return None
        case CancelStep.INTERRUPTED:
            return WaitForAgent(times.interrupt_s, CancelStep.SIGNALLED)
        case CancelStep.SIGNALLED:
            return WaitForAgent(times.sigint_s, CancelStep.ENDING, signals=True)
        case CancelStep.ENDING | CancelStep.LEAVING:
            return EndAgent(times.term_s, nothing_open=step is CancelStep.LEAVING)


def escalate(run: RunRow, to: CancelStep) -> Decision:
    """The agent has not stopped its turn: take the next step, and give it nothing more."""
    return Decision(changes=(SaveRun(replace(run, cancel_step=to)),), effects=(RefuseInputs(),))


def is_insisting(since_step_s: float, times: CancelTimes) -> bool:
    """Whether a repeated cancel is a new one, so that the next step is taken now."""
    return since_step_s >= times.insist_s
