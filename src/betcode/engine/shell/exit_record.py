"""Record the end of a run: its class, the events and rows that follow from it, and what the session does next."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from betcode.domain.errors import StorageDegraded, StorageFailed
from betcode.domain.runs.exit_record import parse_exit
from betcode.domain.runs.state import RunStimulus, advance
from betcode.domain.store.changes import SaveRun
from betcode.domain.store.rows import NO_SEQ
from betcode.domain.values.identifiers import Seq
from betcode.engine.core import exit as run_exit
from betcode.engine.core.counters import KIND_OF
from betcode.engine.core.decision import StateFields
from betcode.engine.core.status import pause_after_agent
from betcode.engine.fault_points import FaultPoint
from betcode.engine.operations import compact
from betcode.engine.shell.partial_output import cut_short
from betcode.engine.shell.views import run_view, session_view
from betcode.engine.shell.working_directory import directory_advice
from betcode.util.wall_clock import now_ns as clock_ns
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.domain.runs.journal_record import Record
    from betcode.domain.store.rows import PromptRow
    from betcode.engine.core.orphaned_prompts import PromptEffects
    from betcode.engine.shell.run import AgentRun

logger = logging.getLogger(__name__)


async def record_exit(run: AgentRun, exit_record: Record | None, trouble: str) -> None:
    """Commit what the end of the agent means, and hand the session on; `trouble` is why it could not be followed."""
    session = run.session
    advice = await _directory_advice(run)
    async with session.lock:
        now_ns = clock_ns()
        session.context.faults(FaultPoint.CLASSIFY_EXIT, session.session_id)
        facts = _gather(run, exit_record, trouble, advice)
        end = run_exit.classify_exit(facts, now_ns)
        voided = run.dialogue.voided(now_ns) if end.retry_in_s is not None else []
        decision = run_exit.exit_effects(facts, end, voided, now_ns)
        told = await _prompts_after(run, facts, end, decision.fields, now_ns)
        said, changes = [*told.said, *decision.events], [*told.changes, *decision.changes]
        fields = decision.fields.copy()
        if end.cancelled:
            said = [
                *await cut_short(session.context.store, session.writer.key, session.writer.state.last_seq),
                *said,
            ]
        state = run.row.state
        for stimulus in end.stimuli:
            state = advance(state, stimulus)
        row = replace(run.row, state=state, ended_ns=now_ns, exit_note=end.note)
        if row.key:
            changes.append(SaveRun(row))
        if end.retry_in_s is None:
            changes += session.recovery.ended_by(RunStimulus.GIVEN_UP)  # it could not be followed by this one
        fields |= pause_after_agent(session.writer.state, now_ns)
        await session.writer.write_surely(said, changes, **fields)
        compact.settle(session, "it was cancelled" if end.after_cancel else end.note)
        if end.crashed:
            session.context.counts.subprocess_crashes += 1
            logger.error("the agent crashed: %s", end.note, extra=session.log_extra)
        else:
            logger.info("the agent ended: %s", end.note, extra=session.log_extra)
        session.run_ended(row, end)


async def _directory_advice(run: AgentRun) -> str:
    """What to do about the working directory of an agent that never spoke; empty: nothing."""
    if run.has_spoken:
        return ""
    return await directory_advice(run.session.context.file_io, run.session.directory)


def _gather(run: AgentRun, exit_record: Record | None, trouble: str, advice: str) -> run_exit.ExitFacts:
    session = run.session
    return run_exit.ExitFacts(
        session=session_view(session),
        run=run_view(run),
        exit=None if exit_record is None else parse_exit(exit_record.data),
        policy=session.context.crashes,
        trouble=trouble,
        was_begun=run.was_begun,
        has_spoken=run.has_spoken,
        has_served=run.has_served,
        hang=run.watch.verdict,
        hang_advice=run.watch.advice,
        failure=run.dialogue.view.failure,
        running_tools=run.dialogue.view.running_tools,
        last_errors=tuple(run.dialogue.view.last_errors),
        directory_advice=advice,
        compaction_done=session.compaction is not None and session.compaction.boundary is not None,
    )


async def _prompts_after(
    run: AgentRun, facts: run_exit.ExitFacts, end: run_exit.RunExit, fields: StateFields, now_ns: int
) -> PromptEffects:
    """Withdraw the prompts that are open, or leave them to the next agent."""
    if why := run_exit.reason_not_continued(facts.session, end, fields):
        return run_exit.withdraw_all(facts.session, end, why, now_ns)
    return run_exit.orphan_prompts(facts, await _answered_in_turn(run))


async def _answered_in_turn(run: AgentRun) -> list[PromptRow]:
    session = run.session
    store, key = session.context.store, session.writer.key
    try:
        ended = await store.newest_of_kind(key, KIND_OF["turn_complete"], session.writer.state.last_seq)
        after = NO_SEQ if ended is None else Seq(v1.AgentEvent.FromString(ended).sequence)
        return list(await store.answered_prompts(key, run.row.key, after))
    except (StorageDegraded, StorageFailed):
        # Nothing is reused then, so that a person is asked again.
        logger.exception("the answers of an interrupted turn could not be read", extra=session.log_extra)
        return []
