"""Stop a session: immediately, or after its current turn."""

import logging
from dataclasses import dataclass, replace

import anyio

from betcode.domain.errors import BetcodeError, SessionNotReady
from betcode.domain.sessions.phase import Phase
from betcode.domain.store.changes import SaveBinding
from betcode.engine.core.decision import Decision
from betcode.engine.core.state import apply
from betcode.engine.fault_points import FaultPoint
from betcode.engine.operations.close import close
from betcode.engine.operations.lifecycle.warm_start import BackgroundResult
from betcode.engine.shell.session import LiveSession
from betcode.util import wall_clock

logger = logging.getLogger(__name__)

_LEAVES_WITHIN_S = 3.0


@dataclass(slots=True)
class _StopResult(BackgroundResult):
    was_killed: bool = False


async def stop(session: LiveSession, *, graceful: bool, within_s: float) -> bool:
    """Close the session; graceful, after its turn has ended. Whether that was in time: otherwise it was broken off.

    A daemon that dies meanwhile leaves the rest to the next one.

    Raises:
        SessionClosed: it was stopped before.
        SessionNotReady: it was never started, or is being stopped.
        StorageDegraded
        SessionFailed: an internal error stopped it.
    """
    async with session.changing(even_degraded=True):
        if session.phase in (Phase.CREATED, Phase.STOPPING):
            raise SessionNotReady(session.session_id, session.phase, "starting, running or working")
        session.refuse_if_closed()
        now_ns = wall_clock.now_ns()
        binding = replace(session.binding, stop_by_ns=now_ns + int(within_s * 1e9) if graceful else now_ns)
        await session.perform_locked(Decision(changes=(SaveBinding(session.writer.key, binding),)))
        session.lifecycle.stops()
        session.tell_phase()
    outcome = _StopResult()
    # Not in the caller's task: whoever asked may leave before it is done.
    await session.tasks.complete(FaultPoint.STOP, _carry_out, session, outcome)
    outcome.check()
    return not outcome.was_killed


async def stop_on(session: LiveSession) -> None:
    """Go on with a stop that a daemon before us began."""
    await _carry_out(session, _StopResult())


async def _carry_out(session: LiveSession, outcome: _StopResult) -> None:
    try:
        left_s = (session.binding.stop_by_ns - wall_clock.now_ns()) / 1e9
        outcome.was_killed = left_s > 0 and not await at_rest(session, left_s)
        if session.run is not None:  # one that is idle is asked to leave before it is made to
            with anyio.move_on_after(2 * _LEAVES_WITHIN_S):
                await session.run.retire(_LEAVES_WITHIN_S)
        await close(session)
    except BetcodeError as trouble:
        logger.warning("the session could not be stopped: %s", trouble, extra=session.log_extra)
        outcome.trouble = trouble
        session.lifecycle.stop_is_over()
        # Only memory forgets the stop: the next daemon finds it in the store and tries again.
        forgotten = SaveBinding(session.writer.key, replace(session.binding, stop_by_ns=0))
        session.set_value(apply(session.writer.session, [forgotten]))
        session.tell_phase()


async def at_rest(session: LiveSession, within_s: float) -> bool:
    """Wait until no turn is open; False where it is still then."""
    with anyio.move_on_after(within_s):
        while not session.at_rest:
            await session.changed.wait()
    return session.at_rest
