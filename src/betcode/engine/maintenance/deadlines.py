"""The next time at which prompts or sessions of any session have to be checked."""

from dataclasses import dataclass, field

import anyio

from betcode.domain.values.clock import Clock
from betcode.engine.maintenance.wall_clock import WallClock
from betcode.util.signal import ResettableEvent


@dataclass(slots=True)
class Deadlines:
    """One moment for all of them: noting an earlier one wakes who waits for it."""

    clock: Clock = field(default_factory=WallClock)
    _next_ns: int = 0
    _sooner: ResettableEvent = field(default_factory=ResettableEvent)

    def set(self, at_ns: int) -> None:
        """The next moment, after everything was looked at."""
        self._next_ns = at_ns

    def note(self, at_ns: int) -> None:
        """Something is due then, perhaps sooner than all else."""
        if at_ns < self._next_ns:
            self._next_ns = at_ns
            self._sooner.set()

    async def wait(self) -> None:
        """Until that moment."""
        while self.clock.now_ns() < self._next_ns:
            self._sooner.clear()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._cancel_when_sooner, tasks.cancel_scope)
                began_ns = self.clock.now_ns()
                await self.clock.reaches(self._next_ns)
                tasks.cancel_scope.cancel()
            if self.clock.now_ns() < began_ns:
                return  # it was set back: what is due is reckoned anew

    async def _cancel_when_sooner(self, scope: anyio.CancelScope) -> None:
        await self._sooner.wait()
        scope.cancel()
