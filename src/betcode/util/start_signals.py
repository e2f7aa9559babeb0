"""Signals that arrive while the daemon starts: they are held until somebody can act on them.

The default action of SIGTERM, SIGINT and SIGHUP ends a process at once, and a start takes most of a second. The first
statement of the daemon replaces these actions. Whoever starts the daemon may block the signals before, so that not even
the start of the interpreter is a gap.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

HELD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StartSignals:
    """The signals received since `hold`."""

    def __init__(self) -> None:
        self._received: list[int] = []

    def hold(self) -> None:
        """From now on these signals are remembered; those that were blocked by the parent arrive now."""
        for number in HELD:
            signal.signal(number, self._note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)

    @property
    def stop_requested(self) -> bool:
        """Return whether one of them asks the daemon to stop."""
        return any(number != signal.SIGHUP for number in self._received)

    def take(self) -> list[signal.Signals]:
        """Return the held signals, each once; for the later signal handler."""
        received, self._received = self._received, []
        return [signal.Signals(number) for number in received]

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._received.append(number)


START_SIGNALS = StartSignals()


@contextmanager
def blocked_signals() -> Iterator[None]:
    """Programs that are started in this block begin with these signals blocked; the daemon unblocks them itself."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
