"""Cancel a turn on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from betcode.domain.runs.state import RunStimulus
from betcode.domain.store.changes import AddInput
from betcode.engine.core import cancel as core
from betcode.engine.core.cancel import CancelDecision, CancelTarget
from betcode.engine.operations import compact
from betcode.engine.shell.views import agent_view, session_view
from betcode.util.wall_clock import now_ns

if TYPE_CHECKING:
    from betcode.domain.store.rows import InputRow
    from betcode.engine.shell.run import AgentRun
    from betcode.engine.shell.session import LiveSession


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
        return CancelResult(done.was_active, (*dropped, *done.withdrawn))


async def _cancel(session: LiveSession, *, cancel_queued: bool) -> CancelDecision:
    run = session.run
    view, agent = session_view(session), agent_view(session)
    target = core.target_of(view, agent)
    if target is CancelTarget.COMPACTION:
        return await _cancel_compaction(session, core.cancel_compaction(view, agent, cancel_queued=cancel_queued))
    if target is CancelTarget.AGENT and run is not None and agent is not None:
        return await _cancel_agent(session, run, core.cancel_agent(view, agent, cancel_queued=cancel_queued))
    return await cancel_without_agent(session, core.waiting_messages(view, agent), cancel_queued=cancel_queued)


async def _cancel_agent(session: LiveSession, run: AgentRun, done: CancelDecision) -> CancelDecision:
    assert done.run is not None
    changes = list(done.decision.changes)
    if done.sends_interrupt:
        changes.append(AddInput(session.interrupt_row(cancel_queued=done.run.cancel_queued)))
    await session.writer.write(done.decision.events, changes)
    run.asked_to_end = run.asked_to_end or run.row.cancel_step.ends_agent
    if done.is_repeated:
        run.escalation.insist()
    else:
        run.escalation.begin()
    session.go_on()
    return done


async def cancel_without_agent(
    session: LiveSession, waiting: Sequence[InputRow], *, cancel_queued: bool, why: str = core.CANCELLED
) -> CancelDecision:
    """Cancel waiting messages where no agent works; the session's lock is held."""
    done = core.cancel_messages(session_view(session), waiting, now_ns(), cancel_queued=cancel_queued, why=why)
    if not done.dropped:
        return done
    changes = list(done.decision.changes)
    if done.was_active:
        changes += session.recovery.ended_by(RunStimulus.GIVEN_UP)
    await session.writer.write(done.decision.events, changes, **done.decision.fields)
    if session.run is not None and not session.run.row.key:
        session.run.asked_to_end = True  # it is only being prepared, and may be told to go on with the cancelled turn
    if done.was_active:
        session.recovery.over()
    if done.rests:
        session.context.slots.give_back(session)
    session.go_on()
    return done


async def _cancel_compaction(session: LiveSession, done: CancelDecision) -> CancelDecision:
    await session.writer.write(done.decision.events, done.decision.changes, **done.decision.fields)
    compact.settle(session, "it was cancelled")
    if done.rests:
        session.context.slots.give_back(session)
    session.go_on()
    return done
