"""Detect an agent that hangs, and end it."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from betcode.domain.runs.silence import Silence
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.shutdown import kill
from betcode.engine.shell.holder_client import HolderGone
from betcode.engine.shell.views import run_view, session_view
from betcode.util.wall_clock import now_ns

if TYPE_CHECKING:
    from betcode.engine.shell.run import AgentRun

logger = logging.getLogger(__name__)

_GRACE_S = 2.0  # between SIGTERM and SIGKILL: whoever was silent for minutes has nothing more to say
_HEARD_WITHIN_S = 3.0  # then its holder hangs too
_ENDED_WITHIN_S = _GRACE_S + 5.0


class HangWatchdog:
    """Watches one agent for signs of life: anything at all that it writes, a tool's heartbeat included."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run
        self._silence = Silence()
        self.verdict = ""  # why the agent was ended, where it hung
        self.advice = ""  # where another one would hang too: what a person can do

    def look(self) -> None:
        """Called again and again; an agent that was silent for too long in a turn is ended."""
        settings = self._run.session.context.settings
        self._silence = self._silence.looked(anyio.current_time(), self._run.active_at, watched=self._is_watched())
        if self._silence.seconds >= settings.hang_after_s:
            self.condemn(f"it gave no sign of life for {settings.hang_after_s:g} s and was ended")

    def condemn(self, verdict: str, advice: str = "") -> None:
        """End the agent for a reason, as if it had crashed; only the first one counts."""
        if not self.verdict:
            self.verdict, self.advice = verdict, advice
            self._run.session.tasks.start_soon(FaultPoint.HANG_END, self._end)

    def _is_watched(self) -> bool:
        """A turn is open or to be begun, and neither a person, a slot, a disk nor the model's API is waited for."""
        run, session = self._run, self._run.session
        if run.flags.asked_to_end or run.row.cancel_step or run.flags.stopped:
            return False
        # A holder that is stopped takes nothing that it is handed, and does not let a new daemon attach.
        is_lost = run.attachment is None and run.holder_pid != 0 and not session.at_rest
        is_greeting = not run.dialogue.view.is_ready and session.has_messages
        is_waiting = run.dialogue.view.turn_open or session_view(session).unconsumed(run_view(run))
        if not (is_waiting or is_lost or is_greeting):
            return False
        pause = run.dialogue.view.api_pause
        paused = pause is not None and now_ns() < pause.until_ns
        in_line = session.context.slots.is_waiting(session)
        return not (paused or in_line or session.prompts or session.writer.degraded_reason)

    async def _end(self) -> None:
        """Nobody asked for it, so what follows is what follows a crash."""
        run = self._run
        logger.warning("the agent is ended: %s", self.verdict, extra=run.session.log_extra)
        with anyio.move_on_after(_HEARD_WITHIN_S) as hearing, suppress(HolderGone):  # it is gone, and so is its agent
            if run.attachment is not None:
                await run.attachment.end(_GRACE_S)
        with anyio.move_on_after(0 if hearing.cancelled_caught else _ENDED_WITHIN_S):
            await run.ended.wait()
        if not run.ended.is_set():
            logger.warning("its holder does not end it; killing both", extra=run.session.log_extra)
            await kill(run.session.context, [run])
