"""`--timeout`: a turn that is not over in time is stopped, insistently, and left where it does not hear."""

import math
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import anyio

from betcode.cli.core.console import Screen
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.client import ClientError
from betcode.domain.values.times import short_duration

# Between one cancel and the next: the daemon stops an agent with growing force, and each asks for more of it.
_PATIENCE_S = (5.0, 5.0, 20.0)


def nothing_was_sent(limit_s: float) -> CommandFailed:
    """What to say where the time was over before the turn."""
    return CommandFailed(f"Nothing was sent within {short_duration(limit_s)}", ExitCode.TIMED_OUT)


@contextmanager
def blocking_within(limit_s: float) -> Iterator[None]:
    """Ends whatever blocks when the time is over, as reading a pipe that nobody writes to; in the main thread only.

    Raises:
        CommandFailed: the time was over.
    """

    def is_over(_number: int, _frame: object) -> None:
        raise nothing_was_sent(limit_s)

    if limit_s == math.inf:
        yield
        return
    before = signal.signal(signal.SIGALRM, is_over)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class TimeLimit:
    """Knows whether the time is over, and whether the turn was left open for that."""

    def __init__(
        self,
        screen: Screen,
        cancel: Callable[[], Awaitable[None]],
        limit_s: float = math.inf,
        *,
        patience_s: Sequence[float] = _PATIENCE_S,
    ) -> None:
        self.is_over = False
        self.has_left = False
        self._was_taken = False  # the daemon has it on disk that the turn is to stop
        self._screen = screen
        self._cancel = cancel
        self._limit_s = limit_s
        self._patience_s = patience_s

    async def heed(self, leave: Callable[[], None]) -> None:
        """When the time is over: stop the turn, again and again; `leave` where that is not heard."""
        if self._limit_s == math.inf:
            return
        await anyio.sleep(self._limit_s)
        self.is_over = True
        self._screen.note(f"Timed out after {short_duration(self._limit_s)}; stopping the turn")
        for wait_s in self._patience_s:
            with anyio.move_on_after(wait_s):
                try:
                    await self._cancel()
                    self._was_taken = True
                except ClientError as error:
                    self._screen.note(error.message)
                await anyio.sleep_forever()  # the end of the turn ends this too
            self._screen.note("The turn has not ended yet; stopping it again")
        self.has_left = True
        leave()

    def parting(self, session_id: str) -> str:
        """What to say where the turn is left."""
        stands = (
            "a stop was requested" if self._was_taken else "the daemon did not confirm the stop, so it may continue"
        )
        return f"Detached before the turn ended; {stands}. Reattach with: betcode attach {session_id}"
