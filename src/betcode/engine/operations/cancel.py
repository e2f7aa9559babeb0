"""Cancel a turn on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from betcode.engine.core.cancel import cancel
from betcode.engine.shell.views import agent_view, session_view
from betcode.util.wall_clock import now_ns

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession


@dataclass(frozen=True, slots=True)
class CancelResult:
    """Whether a turn was open, and the messages that no agent had got and that none will get now."""

    was_active: bool
    withdrawn: tuple[str, ...] = ()


async def cancel_turn(session: LiveSession, *, cancel_queued: bool) -> CancelResult:
    """Have the open turn stopped; its end comes as an event. Asked again after a while, with more force.

    What is accepted after this is not touched by it.
    """
    async with session.changing():
        dropped = await session.budget.drop_waiting("cancelled") if cancel_queued else ()
        run, interrupt = agent_view(session), None
        if run is not None and session.capabilities.interrupt:
            interrupt = session.interrupt_row(cancel_queued=cancel_queued or run.row.cancel_queued)
        done = cancel(session_view(session), run, interrupt, now_ns(), cancel_queued=cancel_queued)
        await session.perform_locked(done.decision)
        return CancelResult(done.was_active, (*dropped, *done.withdrawn))
