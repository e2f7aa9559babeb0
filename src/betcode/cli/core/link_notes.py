"""Says once that the line to the daemon broke, and once that it stands again."""

import time
from collections.abc import Callable

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.client import Link, LinkState
from betcode.domain.error_codes import ErrorCode


class LinkNotes:
    """For a stream that mends itself; with a patience, who waits longer gives up."""

    def __init__(self, say: Callable[[str], None], *, patience_s: float | None = None) -> None:
        self._say = say
        self._patience_s = patience_s
        self._broken_since: float | None = None

    def __call__(self, link: Link) -> None:
        """Take note of a change.

        Raises:
            CommandFailed: it has been broken for longer than the patience.
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
        return "The daemon is stopping"  # its own words tell the reader to do what is done here anyway
    return link.error.message
