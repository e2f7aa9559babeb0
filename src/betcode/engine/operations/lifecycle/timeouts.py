"""Session timeouts: when one expires, cancel the turn and reject further messages."""

import logging

from betcode.domain.errors import BetcodeError
from betcode.domain.permissions.prompt_lifetime import MINUTE_NS
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.values.identifiers import SessionId
from betcode.engine.core import events
from betcode.engine.core.decision import Decision
from betcode.engine.fault_points import FaultPoint
from betcode.engine.operations.cancel import cancel_turn
from betcode.engine.operations.lifecycle.stop import stop_on
from betcode.engine.registry import Registry
from betcode.telemetry.log_context import begin
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)

SCAN_EVERY_NS = 5 * MINUTE_NS
REACHED = "SESSION_TIMEOUT"


async def run_session_timeouts(registry: Registry) -> None:
    """Look at all sessions that have a time when one is due, and every five minutes in any case."""
    begin("housekeeping")
    timeouts = registry.context.timeouts
    while True:
        now_ns = timeouts.clock.now_ns()
        timeouts.set(now_ns + SCAN_EVERY_NS)  # before reading: what begins meanwhile is noted on top
        try:
            for each in await registry.context.store.unfinished():
                if each.binding.deadline_ns > now_ns:
                    timeouts.note(each.binding.deadline_ns)
                elif each.binding.deadline_ns:
                    await _time_out(registry, each.session)
        except BetcodeError as trouble:
            logger.warning("session timeouts could not be checked: %s", trouble)
            timeouts.note(now_ns + MINUTE_NS)
        except Exception:
            # A row that cannot be read; all else that the daemon does is not harmed.
            logger.exception("session timeouts could not be checked")
            timeouts.note(now_ns + MINUTE_NS)
        await timeouts.wait()


async def _time_out(registry: Registry, session: SessionId) -> None:
    try:
        row = await registry.row(session)
        if row.state.status is not SessionStatus.ACTIVE:
            return
        async with registry.using(session) as live:
            registry.context.faults(FaultPoint.SESSION_TIMEOUT, session)
            said = events.notice(v1.NOTICE_KIND_RUN, "The session's timeout is reached", event=REACHED)
            await live.perform(lambda _: Decision((said,)))
            await cancel_turn(live, cancel_queued=True)
            logger.info("the session's timeout is reached: its turn is cancelled", extra=live.log_extra)
    except BetcodeError as trouble:
        logger.warning("a session's turn continues past its timeout: %s", trouble, extra={"session_id": session})
    except Exception as error:
        logger.exception("a session's turn continues past its timeout", extra={"session_id": session})
        registry.report_failure(session, FaultPoint.SESSION_TIMEOUT, error)


async def finish_stops(registry: Registry) -> None:
    """At start: sessions that a daemon before us was stopping are stopped."""
    for each in await registry.context.store.unfinished():
        if each.binding.stop_by_ns:
            registry.context.tasks.start_soon(_finish_stop, registry, each.session)


async def _finish_stop(registry: Registry, session: SessionId) -> None:
    try:
        async with registry.using(session) as live:
            await live.tasks.complete(FaultPoint.FINISH_STOP, stop_on, live)
    except BetcodeError as trouble:
        logger.warning("a stop that was begun cannot be finished: %s", trouble, extra={"session_id": session})
    except Exception:
        logger.exception("a stop that was begun cannot be finished", extra={"session_id": session})
