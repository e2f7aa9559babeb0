"""Record the end of a run: its class, the events and rows that follow from it, and what the session does next."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from betcode.domain.errors import StorageDegraded, StorageFailed
from betcode.domain.runs.exit_record import parse_exit
from betcode.domain.store.rows import NO_SEQ
from betcode.domain.values.identifiers import Seq
from betcode.engine.core import exit as run_exit
from betcode.engine.core.counters import KIND_OF
from betcode.engine.fault_points import FaultPoint
from betcode.engine.shell.partial_output import cut_short
from betcode.engine.shell.views import run_view, session_view
from betcode.engine.shell.working_directory import directory_advice
from betcode.util.wall_clock import now_ns as clock_ns
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.domain.runs.journal_record import Record
    from betcode.domain.store.rows import PromptRow
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
        turn = await _turn_records(run, facts, end, now_ns)
        await session.perform_locked(run_exit.on_exit(facts, end, turn, now_ns), surely=True)
        if end.crashed:
            session.context.counts.subprocess_crashes += 1
            logger.error("the agent crashed: %s", end.note, extra=session.log_extra)
        else:
            logger.info("the agent ended: %s", end.note, extra=session.log_extra)


async def _directory_advice(run: AgentRun) -> str:
    """What to do about the working directory of an agent that never spoke; empty: nothing."""
    if run.flags.has_spoken:
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
        was_begun=run.flags.was_begun,
        has_spoken=run.flags.has_spoken,
        has_served=run.flags.has_served,
        hang=run.watch.verdict,
        hang_advice=run.watch.advice,
        failure=run.dialogue.view.failure,
        running_tools=run.dialogue.view.running_tools,
        last_errors=tuple(run.dialogue.view.last_errors),
        directory_advice=advice,
        compaction_done=session.compaction is not None and session.compaction.boundary is not None,
    )


async def _turn_records(
    run: AgentRun, facts: run_exit.ExitFacts, end: run_exit.RunExit, now_ns: int
) -> run_exit.TurnRecords:
    """Read what the decision needs of the turn."""
    session = run.session
    store, key, last_seq = session.context.store, session.writer.key, session.writer.state.last_seq
    return run_exit.TurnRecords(
        voided=run.dialogue.voided(now_ns) if end.retry_in_s is not None else (),
        answered=await _answered_in_turn(run) if run_exit.continues_turn(facts, end, now_ns) else (),
        cut_off=await cut_short(store, key, last_seq) if end.cancelled else (),
    )


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
