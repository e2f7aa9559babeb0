"""Handle Ctrl-C during a turn: request a stop first, and report the state when the person exits."""

import signal
from collections.abc import Awaitable, Callable
from enum import Enum

import anyio
from anyio.abc import TaskGroup, TaskStatus

from betcode.cli.terminal.console import Screen
from betcode.client import ClientError


class StopRequest(Enum):
    """The state of the request to stop the turn."""

    UNASKED = "unasked"
    ASKED = "asked"  # sent, and the daemon has not confirmed it yet
    DOUBTED = "doubted"  # sent, and the person pressed Ctrl-C again before the confirmation
    TAKEN = "taken"  # stored by the daemon, which escalates until the turn stops
    FAILED = "failed"


_PATIENT = frozenset({StopRequest.UNASKED, StopRequest.ASKED})


class InterruptHandler:
    """Counts confirmations, not key presses: some programs, such as timeout(1), send the signal twice at once."""

    def __init__(self, screen: Screen, cancel: Callable[[], Awaitable[None]]) -> None:
        self.stop = StopRequest.UNASKED
        self.is_detached = False
        self._screen = screen
        self._cancel = cancel

    async def handle_interrupts(
        self, tasks: TaskGroup, leave: Callable[[], None], is_open: Callable[[], bool], *, task_status: TaskStatus[None]
    ) -> None:
        """Handle Ctrl-C until the person exits: the first stops the turn, one after the confirmation calls `leave`."""
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                self._screen.interrupted()
                if not is_open() or self.stop not in _PATIENT:
                    self.is_detached = True
                    leave()
                    return
                self._press(tasks)

    def over(self) -> None:
        """Reset after the end of the turn: the next Ctrl-C concerns another turn."""
        self.stop = StopRequest.UNASKED

    def detach_message(self, session_id: str) -> str:
        """Return the sentence for a person who leaves an open turn."""
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
        """Send the request in its own task: Ctrl-C must work even if the daemon does not answer."""
        try:
            await self._cancel()
        except ClientError as error:
            self._screen.note(error.message)
            self._settle(StopRequest.FAILED)
        else:
            self._settle(StopRequest.TAKEN)

    def _settle(self, stop: StopRequest) -> None:
        if self.stop is StopRequest.UNASKED:
            return  # the turn has ended first
        if self.stop is StopRequest.DOUBTED and stop is StopRequest.TAKEN:
            self._screen.note("The turn is being stopped; Ctrl-C again exits without waiting")
        self.stop = stop
