"""Close a session: end its agent, keep its history."""

import logging
from dataclasses import replace

import anyio

from betcode.domain.errors import SessionFailed
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import RunStimulus
from betcode.domain.sessions.status import SessionStatus, SessionStimulus, advance
from betcode.domain.store.changes import MoveInput, SaveBinding
from betcode.domain.store.rows import InputKind, InputState
from betcode.engine.core import events, orphaned_prompts
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.shutdown import kill
from betcode.engine.operations import compact
from betcode.engine.shell.session import LiveSession
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)

_END_WITHIN_S = 8.0  # SIGTERM, 5 s, then the holder kills; one that is stopped answers nobody
_KILLED_WITHIN_S = 20.0
_SETTLED_WITHIN_S = 60.0


STOPPED, FAILED = "SESSION_STOPPED", "SESSION_FAILED"


async def close(session: LiveSession, *, to_delete: bool = False, failure: str = "") -> bool:
    """End the session: its agent is ended, followers get the rest and leave. False where it was closed before.

    `failure` is the error that it is closed for, if it is for one.
    """
    if to_delete:
        session.closed_words = "the session was deleted"
    await session.failure.wait_settled(_SETTLED_WITHIN_S)
    was_open = await _note_closed(session, failure)
    # Not in the caller's task: whoever asked may leave before the agent has ended.
    try:
        await session.tasks.complete(FaultPoint.WIND_UP, wind_up, session)
    except SessionFailed:
        if not await session.failure.wait_settled(_SETTLED_WITHIN_S):  # which ends the agent, too
            raise
    return was_open


async def _note_closed(session: LiveSession, failure: str) -> bool:
    async with session.changing(even_degraded=True):
        if session.writer.state.status is SessionStatus.CLOSED:
            return False
        closed = advance(session.writer.state.status, SessionStimulus.CLOSED)
        open_prompts = [*session.prompts.values(), *session.orphaned.values()]
        ended = orphaned_prompts.withdraw_prompts(
            session.session_id, open_prompts, session.closed_words, now_ns(), DecidedBy.PERSON, session.stopped_by
        )
        said, changes = ended.said, ended.changes
        asked, kept = session.budget.withdrawn(session.closed_words)
        said += asked
        changes += kept
        waiting = session.unheard()
        changes += session.recovery.ended_by(RunStimulus.GIVEN_UP)
        changes += [MoveInput(row.session, row.input_id, InputState.CANCELLED) for row in waiting]
        said += [
            events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, session.closed_words)
            for row in waiting
            if row.kind is InputKind.MESSAGE
        ]
        event = {"event": FAILED, "reason": failure} if failure else {"event": STOPPED}
        said.append(events.notice(v1.NOTICE_KIND_RUN, session.closed_words.capitalize(), **event))
        lifecycle = session.lifecycle
        before, lifecycle.is_stopping = (lifecycle.binding, lifecycle.is_stopping), True  # until its agent is gone
        lifecycle.binding = replace(lifecycle.binding, ended_ns=now_ns(), failure=failure, stop_by_ns=0)
        try:
            await session.writer.write(
                said, [*changes, SaveBinding(session.writer.key, lifecycle.binding)], status=closed
            )
        except BaseException:
            lifecycle.binding, lifecycle.is_stopping = before
            raise
        session.recovery.over()
        compact.settle(session, session.closed_words)
        session.may_start = False
        session.input_lock.close()
        logger.info(session.closed_words, extra=session.log_extra)
        return True


async def wind_up(session: LiveSession) -> None:
    """After the session was closed: end its agent, then let followers go."""
    if session.run is not None:
        with anyio.move_on_after(_END_WITHIN_S):
            await session.run.end()
    if session.run is not None:
        logger.warning("the holder does not answer; killing it and its agent", extra=session.log_extra)
        with anyio.move_on_after(_KILLED_WITHIN_S):
            await kill(session.context, [session.run])
    session.context.slots.give_back(session)
    session.writer.tail.close()
    session.lifecycle.is_stopping = False
    session.tell_phase()
