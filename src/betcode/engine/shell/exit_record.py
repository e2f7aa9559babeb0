"""Record the end of a run: its class, the events and rows that follow from it, and what the session does next."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from betcode.domain.runs.state import RunStimulus, advance
from betcode.domain.store.changes import SaveRun
from betcode.engine.core import exit as run_exit
from betcode.engine.core.status import pause_after_agent
from betcode.engine.fault_points import FaultPoint
from betcode.engine.operations import compact
from betcode.engine.shell.partial_output import cut_short
from betcode.util.wall_clock import now_ns as clock_ns

if TYPE_CHECKING:
    from betcode.domain.runs.journal_record import Record
    from betcode.engine.shell.run import AgentRun

logger = logging.getLogger(__name__)


async def record_exit(run: AgentRun, exit_record: Record | None, trouble: str) -> None:
    """Commit what the end of the agent means, and hand the session on; `trouble` is why it could not be followed."""
    session = run.session
    advice = await run_exit.directory_advice(run)
    async with session.lock:
        now_ns = clock_ns()
        session.context.faults(FaultPoint.CLASSIFY_EXIT, session.session_id)
        end = run_exit.classify_exit(run, exit_record, trouble, now_ns, directory_advice=advice)
        said, changes, fields = run_exit.exit_effects(session, end)
        told, left = await run_exit.prompts_after(run, end, fields, now_ns, is_told=exit_record is not None)
        said, changes = [*told.said, *said], [*told.changes, *changes]
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
        run.row = row
        session.inputs = {name: kept for name, kept in session.inputs.items() if name not in end.fates}
        session.prompts, session.left = {}, left
        session.budget.settle()
        compact.settle(session, "it was cancelled" if end.after_cancel else end.note)
        if end.crashed:
            session.context.counts.subprocess_crashes += 1
            logger.error("the agent crashed: %s", end.note, extra=session.log_extra)
        else:
            logger.info("the agent ended: %s", end.note, extra=session.log_extra)
        session.run_ended(row, end)
