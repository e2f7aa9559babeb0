"""Print once that the connection to the daemon is lost, and once that it is restored."""

import time
from collections.abc import Callable

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.client import Link, LinkState
from betcode.domain.error_codes import ErrorCode


class LinkNotes:
    """Reports the state of a connection that reconnects by itself; with a patience, gives up after that time."""

    def __init__(self, say: Callable[[str], None], *, patience_s: float | None = None) -> None:
        self._say = say
        self._patience_s = patience_s
        self._broken_since: float | None = None

    def __call__(self, link: Link) -> None:
        """Report a change of the connection.

        Raises:
            CommandFailed: the connection has been down for longer than the patience.
        """
        if link.state is LinkState.CONNECTED:
            if self._broken_since is not None:
                self._say("Reconnected")
            self._broken_since = None
            return
        now = time.monotonic()
        if self._broken_since is None:
            self._broken_since = now
            self._say(f"{_why(link)}; reconnecting (the turn continues; if no daemon is running: betcode daemon start)")
        elif self._patience_s is not None and now - self._broken_since > self._patience_s:
            raise CommandFailed(
                f"No connection to the daemon for {now - self._broken_since:.0f} s", ExitCode.NO_CONNECTION
            )


def _why(link: Link) -> str:
    if link.error is None:
        return "The connection was lost"
    if link.error.code == ErrorCode.DAEMON_STOPPING:
        return "The daemon is stopping"  # the daemon's own sentence advises to reconnect, which happens here anyway
    return link.error.message
