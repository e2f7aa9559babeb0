"""At start: adopt live agents, read the journals of ended ones, and end orphaned processes."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import anyio
import anyio.to_thread

from betcode.domain.errors import BetcodeError, StorageDegraded, StorageFailed
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TurnOutcome
from betcode.domain.store.changes import Change, ForgetClients
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import RunId, SessionId
from betcode.engine.context import EngineContext
from betcode.engine.core import events, orphaned_prompts
from betcode.engine.core.decision import Decision, StateFields
from betcode.engine.core.state import without_agent
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.orphan_check import orphan_runs
from betcode.engine.operations.close import wind_up
from betcode.engine.shell.run import AgentRun
from betcode.engine.shell.session import LiveSession
from betcode.engine.shell.writer import RETRY_AFTER_S, PreparedWrite
from betcode.holder.launch import end_leftovers, is_surely_alive
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)

READ_WITHIN_S = 10.0
ANSWER_WITHIN_S = 1.0  # a holder does in a millisecond; one that is stopped is taken over when it goes on
_ENDED_AT_ONCE = 8  # orphans
_ALL = 1_000_000
_NO_AGENT = (
    "The daemon found no agent for this session when it started, so the turn has ended. Send a message to continue"
)


@dataclass(frozen=True, slots=True)
class AdoptionReport:
    adopted: int = 0  # agents that were alive
    ended: int = 0  # agents that had ended meanwhile
    orphans: int = 0  # agents without a row, ended now
    waiting: int = 0  # sessions with accepted messages and no agent
    idle: int = 0  # sessions in a turn, without agent or message: idle now
    clients: int = 0  # that were connected to the daemon before
    locks: int = 0  # input locks that they held


async def adopt_runs(
    context: EngineContext, open_session: Callable[[SessionId], Awaitable[LiveSession]]
) -> AdoptionReport:
    """No process without a row, and no running row without a process."""
    alive: list[AgentRun] = []
    ended: list[AgentRun] = []
    known: set[str] = set()
    for session_id, row in await context.store.live_runs():
        known.add(row.run_id)  # whether it can be adopted or not: its session has a record of it
        live = await _opened(open_session, session_id, partial(_note_unopened, context, row.run_id))
        if live is None:
            continue
        with live.failure.guard(FaultPoint.ADOPT_INIT):
            run = live.run = AgentRun(live, row)
            is_here = await anyio.to_thread.run_sync(is_surely_alive, run.directory)
            (alive if is_here else ended).append(run)
            live.tasks.start_soon(FaultPoint.ADOPT, run.adopt)
            if live.writer.state.status is SessionStatus.CLOSED:
                live.tasks.start_soon(FaultPoint.WIND_UP, wind_up, live)  # a daemon died in the middle of it
    context.adopted.set()
    for run in (*alive, *ended):
        run.session.go_on()  # it could not while others were not known yet
    orphans = await _end_orphans(context, known)
    with anyio.move_on_after(READ_WITHIN_S):  # clients find those that had ended read to their end
        for run in ended:
            await run.ended.wait()
    with anyio.move_on_after(ANSWER_WITHIN_S):
        for run in alive:
            await run.attached.wait()
    clients, locks = await context.store.connections()
    forget: tuple[Change, ...] = (ForgetClients(),) if clients or locks else ()
    waiting, idle = await _settle_the_rest(context, open_session, forget)
    found = AdoptionReport(len(alive), len(ended), orphans, waiting, idle, clients, locks)
    is_stale = found.orphans or found.idle or found.clients or found.locks  # its daemon did not end by itself
    logger.log(
        logging.WARNING if is_stale else logging.INFO,
        "found %d working agents, %d that had ended, %d without a row; %d sessions with messages to deliver, "
        "%d without an agent that are idle now; forgot %d clients and %d input locks",
        found.adopted,
        found.ended,
        found.orphans,
        found.waiting,
        found.idle,
        found.clients,
        found.locks,
    )
    return found


def _note_unopened(context: EngineContext, run_id: RunId, session: SessionId, why: str) -> None:
    context.run_problems.note(run_id, session, f"its session cannot be opened: {why}", can_be_set_aside=False)


async def _opened(
    open_session: Callable[[SessionId], Awaitable[LiveSession]],
    session: SessionId,
    note: Callable[[SessionId, str], None] = lambda _session, _why: None,
) -> LiveSession | None:
    """None: it cannot be opened. Its agent, if any, stays under its holder, and `session delete` ends it."""
    try:
        return await open_session(session)
    except (StorageDegraded, StorageFailed):
        raise
    except BetcodeError as trouble:
        logger.error("skipped a session: %s", trouble, extra={"session_id": session})
        note(session, trouble.message)
        return None


async def _end_orphans(context: EngineContext, known: set[str]) -> int:
    found = await anyio.to_thread.run_sync(orphan_runs, known, context.runs_dir)
    limiter = anyio.CapacityLimiter(_ENDED_AT_ONCE)
    async with anyio.create_task_group() as tasks:  # those that do not listen take seconds each
        for run_id in found:
            logger.warning("ending an agent that no session knows: run %s", run_id)
            tasks.start_soon(partial(anyio.to_thread.run_sync, end_leftovers, RunId(run_id), 0, 0, limiter=limiter))
    return len(found)


async def _settle_the_rest(
    context: EngineContext, open_session: Callable[[SessionId], Awaitable[LiveSession]], more: Sequence[Change]
) -> tuple[int, int]:
    """Sessions in a turn without an agent: how many have messages to deliver, and how many are idle from now on."""
    rows, _ = await context.store.list_sessions(SessionFilter(statuses=(SessionStatus.ACTIVE,), limit=_ALL))
    sessions = [await _opened(open_session, row.new.session_id) for row in rows]
    without = [
        live
        for live in sessions
        if live is not None
        and live.run is None
        and live.writer.state.status is SessionStatus.ACTIVE
        and not live.failure.is_pending
    ]
    idle: list[tuple[LiveSession, PreparedWrite]] = []
    for live in without:
        with live.failure.guard(FaultPoint.SETTLE):
            context.faults(FaultPoint.SETTLE, live.session_id)
            if not live.has_messages:
                idle.append((live, _rest_without_agent(live)))
    await _commit_together(context, idle, more)
    waiting = [live for live in without if live.has_messages]
    for live in waiting:
        live.go_on()
    return len(waiting), len(idle)


async def _commit_together(
    context: EngineContext, prepared: Sequence[tuple[LiveSession, PreparedWrite]], more: Sequence[Change]
) -> None:
    """One transaction for all sessions: a daemon that is killed here leaves all of it done, or nothing.

    Where the store refuses it, each session is tried alone, and the one that is at fault fails.
    """
    try:
        await _commit(context, [*more, *(change for _, each in prepared for change in each.changes)])
    except StorageFailed:
        logger.exception("the sessions without an agent are settled one by one")
        await _commit(context, more)
        for live, each in prepared:
            with live.failure.guard(FaultPoint.SETTLE):
                await _commit(context, each.changes)
                live.writer.written(each)
    else:
        for live, each in prepared:
            with live.failure.guard(FaultPoint.SETTLE):
                live.writer.written(each)


async def _commit(context: EngineContext, changes: Sequence[Change]) -> None:
    """Raises StorageFailed."""
    while changes:
        try:
            await context.store.commit(changes)
        except StorageDegraded:
            await anyio.sleep(RETRY_AFTER_S)
        else:
            return


def _rest_without_agent(session: LiveSession) -> PreparedWrite:
    """At start, where a turn was open and no agent is left: it is over, and history says so."""
    open_prompts = [*session.prompts.values(), *session.orphaned.values()]
    began, transcript = session.writer.state.conversation_began, session.writer.state.transcript
    done = orphaned_prompts.PromptEffects()
    if not (began and session.capabilities.continues_broken_turn):
        done = orphaned_prompts.withdraw_prompts(
            session.session_id, open_prompts, orphaned_prompts.NOT_CONTINUED, now_ns()
        )
    said = [
        *done.said,
        events.notice(v1.NOTICE_KIND_RUN, _NO_AGENT),
        events.turn_complete("crashed"),
        events.status(v1.IDLE),
    ]
    session.set_value(without_agent(session.writer.session))
    if began:
        transcript = transcript.after(TurnOutcome.BROKE_OFF)
    fields: StateFields = {"status": SessionStatus.IDLE, "transcript": transcript}
    return session.prepare(Decision(tuple(said), tuple(done.changes), fields))
