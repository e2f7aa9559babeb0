"""Cancel a turn on request."""

from dataclasses import dataclass, replace

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import CancelStep, RunStimulus
from betcode.domain.sessions.status import SessionStimulus, advance
from betcode.domain.sessions.transcript import TranscriptEnd, TurnOutcome
from betcode.domain.store.changes import AddInput, Change, MoveInput, SaveRun
from betcode.domain.store.rows import NO_CRASHES, InputKind, InputRow, InputState
from betcode.engine.core import compaction, events, orphaned_prompts
from betcode.engine.operations import compact
from betcode.engine.shell.run import AgentRun
from betcode.engine.shell.session import LiveSession
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class CancelResult:
    """Whether a turn was open, and the messages that no agent had got and that none will get now."""

    was_active: bool
    withdrawn: tuple[str, ...] = ()


async def cancel_turn(session: LiveSession, *, cancel_queued: bool) -> CancelResult:
    """Have the open turn stopped; its end comes as an event. Asked again after a while, with more force.

    What is accepted after this is not touched by it.
    """
    async with session.changing():
        dropped = await session.budget.drop_waiting("cancelled") if cancel_queued else ()
        done = await _cancel(session, cancel_queued=cancel_queued)
        return replace(done, withdrawn=(*dropped, *done.withdrawn))


async def _cancel(session: LiveSession, *, cancel_queued: bool) -> CancelResult:
    waiting = waiting_messages(session)
    if compaction.is_waiting(session.inputs.values()):
        return await _cancel_compaction(session, waiting if cancel_queued else [])
    if session.at_rest or not (session.run and is_at_work(session, session.run)):
        return await cancel_without_agent(session, waiting, cancel_queued=cancel_queued)
    return await _cancel_agent(session, session.run, waiting, cancel_queued=cancel_queued)


def waiting_messages(session: LiveSession) -> list[InputRow]:
    """The messages that no agent has, or only one that makes way."""
    run = session.run
    holder = None if run is None or run.row.cancel_step is CancelStep.LEAVING else run.row.key
    messages = [row for row in session.inputs.values() if row.kind is InputKind.MESSAGE]
    return [row for row in messages if row.run is None or row.run != holder]


def is_at_work(session: LiveSession, run: AgentRun) -> bool:
    if run.row.cancel_step is CancelStep.LEAVING or not run.row.key:
        return False
    answers = any(row.kind is InputKind.ANSWER for row in session.inputs.values())
    return run.dialogue.turn_open or session.unconsumed(run) or answers or session.writer.state.turn_interrupted


def already_begun(session: LiveSession, waiting: list[InputRow]) -> list[InputRow]:
    """Those among the messages that wait which an agent before had begun to answer: the turn that is continued."""
    return [row for row in waiting if row.number] if session.writer.state.turn_interrupted else []


async def _cancel_agent(
    session: LiveSession, run: AgentRun, waiting: list[InputRow], *, cancel_queued: bool
) -> CancelResult:
    # What an agent before had begun is this one's turn, given to it or not: its end comes with the turn's.
    begun = {row.input_id for row in already_begun(session, waiting)}
    dropped = [row for row in waiting if row.input_id not in begun] if cancel_queued else []
    said, changes = withdrawn(dropped)
    again = run.row.cancel_step is not CancelStep.NONE
    row = replace(run.row, cancel_queued=cancel_queued or run.row.cancel_queued)
    interrupt: InputRow | None = None
    if not session.capabilities.interrupt:
        row = row if again else replace(row, cancel_step=CancelStep.SIGNALLED)
    elif not again or (row.cancel_step is CancelStep.INTERRUPTED and row != run.row):
        row = replace(row, cancel_step=CancelStep.INTERRUPTED)
        interrupt = session.interrupt_row(cancel_queued=row.cancel_queued)
        changes.append(AddInput(interrupt))
    await session.writer.write(said, [*changes, SaveRun(row)])
    run.row = row
    run.asked_to_end = run.asked_to_end or row.cancel_step.ends_agent
    _forget(session, dropped)
    if interrupt is not None:
        session.inputs[interrupt.input_id] = interrupt
    if again:
        run.escalation.insist()
    else:
        run.escalation.begin()
    session.go_on()
    return CancelResult(True, tuple(row.input_id for row in dropped))


async def cancel_without_agent(
    session: LiveSession, waiting: list[InputRow], *, cancel_queued: bool, why: str = "cancelled"
) -> CancelResult:
    """No agent works: what a crashed one had begun, else the first message that waits, is the turn; others are queued.

    At rest messages wait too, once the turn was given up: they are the ones to be rid of where no agent survives them.
    """
    was_active = not session.at_rest and bool(waiting)
    turn = (already_begun(session, waiting) or waiting[:1]) if was_active else []
    dropped = waiting if cancel_queued else turn
    if not dropped:
        return CancelResult(False)
    open_prompts = session.left.values()
    ended = orphaned_prompts.withdraw_prompts(
        session.session_id, open_prompts, orphaned_prompts.CANCELLED, now_ns(), DecidedBy.PERSON, session.stopped_by
    )
    said, changes = withdrawn(dropped, why)
    said[:0] = ended.said
    changes += ended.changes
    status = session.writer.state.status
    fields: dict[str, object] = {"transcript": transcript_without(session, dropped), "crashes": NO_CRASHES}
    if was_active:
        changes += session.recovery.ended_by(RunStimulus.GIVEN_UP)
        said.append(events.turn_complete("cancelled", [row.input_id for row in turn]))
    if was_active and len(dropped) == len(waiting):
        status = advance(status, SessionStimulus.TURN_CLOSED)
        said.append(events.status(v1.IDLE))
    await session.writer.write(said, changes, status=status, **fields)
    session.left.clear()
    _forget(session, dropped)
    if session.run is not None and not session.run.row.key:
        session.run.asked_to_end = True  # it is only being prepared, and may be told to go on with the cancelled turn
    if was_active:
        session.recovery.over()
    if session.at_rest:
        session.context.slots.give_back(session)
    session.go_on()
    return CancelResult(was_active, tuple(row.input_id for row in dropped))


async def _cancel_compaction(session: LiveSession, dropped: list[InputRow]) -> CancelResult:
    """No agent has heard of it yet; messages behind it go on, but for those that are dropped too."""
    compactions = [row for row in session.inputs.values() if row.kind is InputKind.COMPACTION]
    said, changes = withdrawn(dropped)
    changes += [MoveInput(row.session, row.input_id, InputState.CANCELLED) for row in compactions]
    said.append(events.turn_complete("cancelled"))
    rests = not any(row.kind is InputKind.MESSAGE and row not in dropped for row in session.inputs.values())
    status = session.writer.state.status
    if rests:
        status = advance(status, SessionStimulus.TURN_CLOSED)
        said.append(events.status(v1.IDLE))
    await session.writer.write(said, changes, status=status)
    _forget(session, [*compactions, *dropped])
    compact.settle(session, "it was cancelled")
    if rests:
        session.context.slots.give_back(session)
    session.go_on()
    return CancelResult(True, tuple(row.input_id for row in dropped))


def transcript_without(session: LiveSession, dropped: list[InputRow]) -> TranscriptEnd:
    """How the agent's transcript ends once these messages are given up: one that an agent was given may be in it."""
    transcript = session.writer.state.transcript
    was_given = transcript.turn_interrupted or any(row.number for row in dropped)
    return transcript.after(TurnOutcome.ABANDONED) if was_given else transcript


def withdrawn(rows: list[InputRow], why: str = "cancelled") -> tuple[list[v1.AgentEvent], list[Change]]:
    """What is said and stored of messages that no agent will answer."""
    said = [events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, why) for row in rows]
    return said, [MoveInput(row.session, row.input_id, InputState.CANCELLED) for row in rows]


def _forget(session: LiveSession, rows: list[InputRow]) -> None:
    for row in rows:
        session.inputs.pop(row.input_id, None)
