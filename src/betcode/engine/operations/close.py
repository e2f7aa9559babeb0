"""Close a session: end its agent, keep its history."""

import logging

import anyio

from betcode.domain.errors import SessionFailed
from betcode.domain.sessions.status import SessionStatus
from betcode.engine.core.close import CloseFacts, close_session
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.shutdown import kill
from betcode.engine.shell.session import LiveSession
from betcode.engine.shell.views import agent_view, session_view
from betcode.util.wall_clock import now_ns

logger = logging.getLogger(__name__)

_END_WITHIN_S = 8.0  # SIGTERM, 5 s, then the holder kills; one that is stopped answers nobody
_KILLED_WITHIN_S = 20.0
_SETTLED_WITHIN_S = 60.0


async def close(session: LiveSession, *, to_delete: bool = False, failure: str = "") -> bool:
    """End the session: its agent is ended, followers get the rest and leave. False where it was closed before.

    `failure` is the error that it is closed for, if it is for one.
    """
    if to_delete:
        session.note_deletion()
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
        facts = CloseFacts(session.writer.key, session.binding, failure)
        with session.lifecycle.stopping():  # until its agent is gone
            await session.perform_locked(close_session(session_view(session), agent_view(session), facts, now_ns()))
        logger.info(session.stop_request.closed_reason, extra=session.log_extra)
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
    session.lifecycle.stop_is_over()
    session.tell_phase()
