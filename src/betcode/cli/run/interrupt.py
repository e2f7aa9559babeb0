"""What Ctrl-C does to an open turn: it is stopped first, and nobody leaves it without knowing how it stands."""

import signal
from collections.abc import Awaitable, Callable
from enum import Enum

import anyio
from anyio.abc import TaskGroup, TaskStatus

from betcode.cli.core.console import Screen
from betcode.client import ClientError


class StopRequest(Enum):
    """How far the daemon has been told to stop the turn."""

    UNASKED = "unasked"
    ASKED = "asked"  # and the daemon has not answered yet
    DOUBTED = "doubted"  # asked, and the person pressed Ctrl-C again before the answer
    TAKEN = "taken"  # the daemon has it on disk, and sees to it with growing force
    FAILED = "failed"


_PATIENT = frozenset({StopRequest.UNASKED, StopRequest.ASKED})


class InterruptHandler:
    """Counts by answers and not by presses: some programs send the signal twice at once, as timeout(1) does."""

    def __init__(self, screen: Screen, cancel: Callable[[], Awaitable[None]]) -> None:
        self.stop = StopRequest.UNASKED
        self.has_left = False
        self._screen = screen
        self._cancel = cancel

    async def heed(
        self, tasks: TaskGroup, leave: Callable[[], None], is_open: Callable[[], bool], *, task_status: TaskStatus[None]
    ) -> None:
        """Until the person leaves: a Ctrl-C stops the turn, one that comes when that was taken calls `leave`."""
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                self._screen.interrupted()
                if not is_open() or self.stop not in _PATIENT:
                    self.has_left = True
                    leave()
                    return
                self._press(tasks)

    def over(self) -> None:
        """The turn has ended; the next Ctrl-C is about another."""
        self.stop = StopRequest.UNASKED

    def parting(self, session_id: str) -> str:
        """What to say to a person who leaves a turn that is open."""
        find = f"Reattach with: betcode attach {session_id}"
        if self.stop is StopRequest.TAKEN:
            return f"Detached before the turn ended; a stop was requested. {find}"
        return f"Detached; the turn is still running. {find}"

    def _press(self, tasks: TaskGroup) -> None:
        if self.stop is StopRequest.UNASKED:
            self.stop = StopRequest.ASKED
            self._screen.note("Interrupting the turn; Ctrl-C again exits without waiting")
            tasks.start_soon(self._ask)
        else:
            self.stop = StopRequest.DOUBTED
            self._screen.note("The daemon has not answered yet; Ctrl-C again exits and leaves the turn running")

    async def _ask(self) -> None:
        """Beside the waiting for signals: Ctrl-C must be heard even when the daemon does not answer."""
        try:
            await self._cancel()
        except ClientError as error:
            self._screen.note(error.message)
            self._settle(StopRequest.FAILED)
        else:
            self._settle(StopRequest.TAKEN)

    def _settle(self, stop: StopRequest) -> None:
        if self.stop is StopRequest.UNASKED:
            return  # the turn was quicker
        if self.stop is StopRequest.DOUBTED and stop is StopRequest.TAKEN:
            self._screen.note("The turn is being stopped; Ctrl-C again exits without waiting")
        self.stop = stop
