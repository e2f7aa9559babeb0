"""Run a user's program with a small environment and a timeout."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

import anyio
from anyio.abc import Process

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
        process = await anyio.open_process(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=small_environment(os.environ, *more_names),
            cwd="/",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise NotSent(f"{argv[0]} cannot be started: {error}") from error
    try:
        with anyio.fail_after(TIME_LIMIT_S):
            await _feed(process, stdin)
            code = await process.wait()
    except TimeoutError:
        raise NotSent(f"{argv[0]} took longer than {TIME_LIMIT_S:g} s") from None
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
    if code != 0:
        raise NotSent(f"{argv[0]} ended with {code}")


async def _feed(process: Process, data: bytes) -> None:
    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):  # it need not read
        await process.stdin.send(data)
        await process.stdin.aclose()


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    await process.aclose()
