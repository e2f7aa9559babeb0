"""When an agent does not stop its turn on an interrupt: SIGINT, then its end by SIGTERM, then the end of everything.

Each step is on disk before it is taken, so that a daemon that comes later goes on from there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from betcode.domain.runs.state import CancelStep
from betcode.engine.core.cancel import CancelTimes, EndAgent, WaitForAgent, escalate, is_insisting, plan_step
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.shutdown import kill
from betcode.engine.shell.holder_client import HolderGone, HolderRefused
from betcode.holder.platform import start_time_now
from betcode.holder.tool_leftovers import end_orphans
from betcode.util.signal import ResettableEvent

if TYPE_CHECKING:
    from betcode.engine.shell.run import AgentRun

logger = logging.getLogger(__name__)

_ANSWERS_WITHIN_S = 2.0  # a holder that is alive does, in a millisecond
_HOLDER_KILLS_WITHIN_S = 7.0  # it gives up after five
_KILLED_WITHIN_S = 20.0


class CancelEscalation:
    """The steps of one run's cancel, taken one after the other until the turn is over or the agent is gone."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run
        self._is_at_work = False
        self._is_over = False  # what the present step waits for has come
        self._since = 0.0  # when the present step was taken
        self._wake = ResettableEvent()

    def begin(self) -> None:
        """Go on from the step that the run's row names, if any."""
        if self._run.row.cancel_step and not self._is_at_work:
            self._is_at_work = True
            self._since = anyio.current_time()
            self._run.session.tasks.start_soon(FaultPoint.CANCEL_STEPS, self._climb)

    def insist(self) -> None:
        """Go on to the next step now; right after the last one it is the same cancel, requested twice."""
        if is_insisting(anyio.current_time() - self._since, self._times):
            self._wake.set()

    def note_turn_over(self) -> None:
        """The turn has ended, or the agent has."""
        self._is_over = True
        self._wake.set()

    def sweep(self, since: int) -> None:
        """An agent that stopped its turn ended its tools, but not what these moved out of its reach."""
        row = self._run.row
        work = partial(end_orphans, row.holder_pid, row.agent_pid, since, start_time_now())
        self._run.session.tasks.start_soon(FaultPoint.CANCEL_SWEEP, self._sweep, work)

    async def _sweep(self, work: Callable[[], int]) -> None:
        try:
            ended = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except OSError as error:  # no descriptor is left to look with; they end with the agent
            logger.warning(
                "cannot search for leftover processes of a cancelled turn: %s", error, extra=self._run.session.log_extra
            )
        else:
            logger.info("ended %d leftover processes of a cancelled turn", ended, extra=self._run.session.log_extra)

    async def _climb(self) -> None:
        try:
            while (step := self._run.row.cancel_step) and not self._run.ended.is_set():
                self._is_over, self._since = False, anyio.current_time()
                self._wake.clear()
                await self._take(step)
        finally:
            self._is_at_work = False

    async def _take(self, step: CancelStep) -> None:
        session = self._run.session
        session.context.faults(FaultPoint.CANCEL_STEP, session.session_id)
        match plan_step(step, self._times):
            case WaitForAgent() as plan:
                was_told = not plan.signals or await self._signal()
                if not was_told or await self._outlasts(plan.wait_s):
                    await self._advance(step, plan.then)
            case EndAgent() as plan:
                await self._end(plan.grace_s, nothing_open=plan.nothing_open)
            case None:
                pass

    @property
    def _times(self) -> CancelTimes:
        settings = self._run.session.context.settings
        return CancelTimes(
            settings.cancel_interrupt_s, settings.cancel_sigint_s, settings.cancel_term_s, settings.cancel_insist_s
        )

    async def _outlasts(self, wait_s: float) -> bool:
        """Whether the turn is still open when the time is up, or when a person insists."""
        with anyio.move_on_after(wait_s):
            await self._wake.wait()
        return not self._is_over

    async def _advance(self, step: CancelStep, to: CancelStep) -> None:
        run = self._run
        async with run.session.lock:
            if self._is_over or run.row.cancel_step is not step:
                return
            await run.session.perform_locked(escalate(run.row, to), surely=True)
        logger.warning("the agent does not stop its turn: %s", to.name.lower(), extra=run.session.log_extra)
        run.session.context.faults(FaultPoint(f"cancel-{to.name.lower()}"), run.session.session_id)

    async def _signal(self) -> bool:
        """SIGINT for the agent; False where its holder does not know how, or does not answer."""
        attachment = self._run.attachment
        if attachment is None:
            return True
        try:
            with anyio.move_on_after(_ANSWERS_WITHIN_S) as waited:
                await attachment.signal("SIGINT")
        except HolderRefused:
            return False
        except HolderGone:
            return True
        return not waited.cancelled_caught

    async def _end(self, grace_s: float, *, nothing_open: bool) -> None:
        """Have the holder end the agent; where the holder does not answer, end both."""
        run = self._run
        if await self._tell(grace_s, nothing_open=nothing_open):
            with anyio.move_on_after(grace_s):
                await self._wake.wait()
            if not run.ended.is_set() and await self._tell(0):
                with anyio.move_on_after(_HOLDER_KILLS_WITHIN_S):
                    await run.ended.wait()
        if not run.ended.is_set():
            logger.warning("the holder does not answer; killing it and its agent", extra=run.session.log_extra)
            with anyio.move_on_after(_KILLED_WITHIN_S):
                await kill(run.session.context, [run])

    async def _tell(self, grace_s: float, *, nothing_open: bool = False) -> bool:
        """Whether the holder has heard that the agent is to end within that time."""
        with anyio.move_on_after(max(grace_s, _ANSWERS_WITHIN_S)) as waited:
            await self._run.attached.wait()  # not yet, where a daemon has only just found the run
            attachment = self._run.attachment
            if attachment is None:
                await self._run.ended.wait()
                return True
            try:
                await attachment.end(grace_s, nothing_open=nothing_open)
            except HolderGone:
                await self._run.ended.wait()  # the reader sees it too, and ends what is left
        return not waited.cancelled_caught
