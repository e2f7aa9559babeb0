"""Back off before an agent is restarted after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from betcode.domain.runs.state import RunState
from betcode.domain.store.rows import RunRow
from betcode.engine.fault_points import FaultPoint
from betcode.util.wall_clock import now_ns

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession


class RestartBackoff:
    """The wait of one session; how often it crashed is in its row. Whoever changes it holds the session's lock."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._crashed: RunRow | None = None
        self._wait: anyio.CancelScope | None = None

    @property
    def crashed(self) -> RunRow | None:
        """The run whose turn is to be continued."""
        return self._crashed

    @property
    def waiting(self) -> bool:
        return self._wait is not None

    @property
    def due_ns(self) -> int:
        """When the next agent is started; 0 where none is waited for."""
        session = self._session
        return session.writer.state.crashes.due_ns(session.context.crashes) if self.waiting else 0

    async def load(self) -> None:
        """Take up what an earlier daemon left of it."""
        session = self._session
        newest = await session.context.store.newest_run(session.writer.key)
        if newest is not None and newest.state is RunState.BACKING_OFF:
            crashes = session.writer.state.crashes
            self.back_off(newest, crashes.left_to_wait_s(session.context.crashes, now_ns()))

    def back_off(self, crashed: RunRow, wait_s: float) -> None:
        """Start another agent when the time has come."""
        self._crashed = crashed
        self._wait = anyio.CancelScope()
        self._session.tasks.start_soon(FaultPoint.RECOVERY_WAIT, self._go_on_after, wait_s, self._wait)

    async def _go_on_after(self, wait_s: float, scope: anyio.CancelScope) -> None:
        with scope:
            await anyio.sleep(wait_s)
        if self._wait is scope:
            self._session.context.faults(FaultPoint.RECOVERY_RESUME, self._session.session_id)
            self._wait = None
            self._session.go_on()

    def hurry(self) -> None:
        """Somebody is there and waits: do not wait any longer."""
        if self._wait is not None:
            wait, self._wait = self._wait, None
            wait.cancel()

    def over(self) -> None:
        """Another agent has the turn now, or nobody wants it continued any more."""
        self.hurry()
        self._crashed = None

    def reset(self) -> None:
        """The session has failed: nothing is retried."""
        self._wait = self._crashed = None
