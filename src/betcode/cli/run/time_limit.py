"""`--timeout`: stop a turn that takes too long, repeatedly, and detach if it does not end."""

import math
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import anyio

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.terminal.console import Screen
from betcode.client import ClientError
from betcode.domain.values.times import short_duration

# The interval between cancels: the daemon escalates with each of them.
_PATIENCE_S = (5.0, 5.0, 20.0)


def nothing_was_sent(limit_s: float) -> CommandFailed:
    """Return the error for a time limit that is reached before the turn."""
    return CommandFailed(f"Nothing was sent within {short_duration(limit_s)}", ExitCode.TIMED_OUT)


@contextmanager
def blocking_within(limit_s: float) -> Iterator[None]:
    """Interrupt a blocking call at the time limit, such as a read from a silent pipe; only in the main thread.

    Raises:
        CommandFailed: the time limit was reached.
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
    """Tracks whether the time limit was reached, and whether the turn was left open."""

    def __init__(
        self,
        screen: Screen,
        cancel: Callable[[], Awaitable[None]],
        limit_s: float = math.inf,
        *,
        patience_s: Sequence[float] = _PATIENCE_S,
    ) -> None:
        self.is_over = False
        self.is_detached = False
        self._was_taken = False  # the daemon has stored the cancel
        self._screen = screen
        self._cancel = cancel
        self._limit_s = limit_s
        self._patience_s = patience_s

    async def enforce(self, leave: Callable[[], None]) -> None:
        """At the time limit, cancel the turn repeatedly; call `leave` if it does not end."""
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
                await anyio.sleep_forever()  # the end of the turn cancels this task
            self._screen.note("The turn has not ended yet; stopping it again")
        self.is_detached = True
        leave()

    def detach_message(self, session_id: str) -> str:
        """Return the sentence for a turn that is left open."""
        state = "a stop was requested" if self._was_taken else "the daemon did not confirm the stop, so it may continue"
        return f"Detached before the turn ended; {state}. Reattach with: betcode attach {session_id}"
