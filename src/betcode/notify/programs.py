"""Run a user's program with a small environment and a timeout."""

import os
from collections.abc import Mapping, Sequence
from subprocess import DEVNULL

from betcode.proc import run

TIME_LIMIT_S = 30.0
_ALWAYS = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "USER")
DESKTOP = ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR")


class NotSent(Exception):
    """A notification was not delivered; the message gives the reason, without a secret."""


def small_environment(environ: Mapping[str, str], *more: str) -> dict[str, str]:
    """Return the variables that a program needs to start, without those of agents and tokens."""
    return {name: environ[name] for name in (*_ALWAYS, *more) if name in environ}


async def run_program(argv: Sequence[str], *, stdin: bytes = b"", more_names: Sequence[str] = ()) -> None:
    """Run the program to its end.

    Raises:
        NotSent: it cannot be started, failed, or took too long and was killed with its child processes.
    """
    try:
        done = await run(
            argv,
            small_environment(os.environ, *more_names),
            limit_s=TIME_LIMIT_S,
            stdin=stdin,
            stdout=DEVNULL,
            stderr=DEVNULL,
            keep_background=True,  # it may play a sound after its own end
        )
    except (OSError, ValueError) as error:
        raise NotSent(f"{argv[0]} cannot be started: {error}") from error
    if done.timed_out:
        raise NotSent(f"{argv[0]} took longer than {TIME_LIMIT_S:g} s")
    if done.code:
        raise NotSent(f"{argv[0]} ended with {done.code}")
