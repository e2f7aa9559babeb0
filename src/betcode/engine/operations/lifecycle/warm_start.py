"""Start a session's agent before its first message."""

import logging
from dataclasses import dataclass

import anyio

from betcode.domain.errors import AgentUnavailable, BetcodeError, SessionClosed, SessionNotReady
from betcode.domain.store.changes import SaveBinding
from betcode.engine.core import events
from betcode.engine.core.decision import AllowStart, Decision
from betcode.engine.fault_points import FaultPoint
from betcode.engine.operations.close import close
from betcode.engine.operations.lifecycle.lifecycle import started_binding
from betcode.engine.shell.run import AgentRun
from betcode.engine.shell.session import LiveSession
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)

STARTED = "SESSION_STARTED"
_SILENT_FOR_S = 5.0  # an agent that needs no greeting, and says nothing until it is spoken to, counts as ready then


@dataclass(slots=True)
class BackgroundResult:
    """What became of something that goes on without whoever asked for it."""

    trouble: BetcodeError | None = None

    def check(self) -> None:
        """Raises what was the trouble."""
        if self.trouble is not None:
            raise self.trouble


async def begin(session: LiveSession, within_s: float) -> None:
    """Start an agent, unless one is there; returns when messages can be given to it. The session fails with it.

    Raises:
        AgentUnavailable, AgentMemoryExhausted: it did not start, and the session is closed for that reason.
        SessionClosed, SessionNotReady: somebody closed it meanwhile, or restarts it.
        SessionFailed: an internal error stopped it.
    """
    outcome = BackgroundResult()
    # Not in the caller's task: whoever asked may leave before the agent is ready.
    await session.tasks.complete(FaultPoint.WARM_START, _carry_out, session, within_s, outcome)
    outcome.check()


async def _carry_out(session: LiveSession, within_s: float, outcome: BackgroundResult) -> None:
    try:
        run = await _started(session)
        await _ready(session, run, within_s)
        await _note_begun(session)
    except BetcodeError as trouble:
        session.lifecycle.start_is_over()
        outcome.trouble = trouble
        if not session.is_closed and not session.lifecycle.is_stopping:
            logger.warning("the session could not be started: %s", trouble, extra=session.log_extra)
            await close(session, failure=trouble.message)
        session.tell_phase()
    finally:
        session.lifecycle.start_is_over()


async def _started(session: LiveSession) -> AgentRun:
    async with session.changing():
        session.refuse_if_closed()
        if session.run is not None:
            return session.run
        session.lifecycle.starts()
        session.act([AllowStart()])  # else what the agent is greeted with is not handed over
        session.tell_phase()
        await session.check_program()
        await session.context.memory.make_room()
        run = session.run = AgentRun(session)
        session.lifecycle.has_agent()
        session.tasks.start_soon(FaultPoint.RUN, run.begin)
        return run


async def _ready(session: LiveSession, run: AgentRun, within_s: float) -> None:
    began = anyio.current_time()
    with anyio.move_on_after(within_s):
        while session.run is run:
            left_s = began + _SILENT_FOR_S - anyio.current_time()
            if run.attached.is_set() and run.dialogue.view.is_ready and (run.flags.has_said_anything or left_s <= 0):
                return
            with anyio.move_on_after(max(left_s, 0.01) if left_s > 0 else None):
                await session.changed.wait()
    if session.is_closed:
        raise SessionClosed(session.session_id)
    if session.lifecycle.is_stopping:  # to be closed, or to be started anew
        raise SessionNotReady(session.session_id, session.phase, "not stopping")
    if session.run is run:
        raise AgentUnavailable(f"The agent was not ready within {within_s:g} s")
    words = " ".join(run.dialogue.view.last_errors)[-600:]
    output = f"; its last output: {words}" if words else ""
    failure = run.dialogue.view.failure
    advice = f". {failure.advice}" if failure is not None and failure.advice else ""
    how = run.row.exit_note or "it could not be run"
    raise AgentUnavailable(f"The agent ended before it was ready: {how}{output}{advice}")


async def _note_begun(session: LiveSession) -> None:
    async with session.lock:
        session.refuse_if_closed()
        binding = started_binding(session.binding, now_ns())
        said = events.notice(v1.NOTICE_KIND_RUN, "The agent was started", event=STARTED)
        done = Decision((said,), (SaveBinding(session.writer.key, binding),))
        await session.perform_locked(done, surely=True)
        session.lifecycle.start_is_over()
        if binding.deadline_ns:
            session.context.timeouts.note(binding.deadline_ns)
        session.tell_phase()
