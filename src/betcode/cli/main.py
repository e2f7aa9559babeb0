"""The command `betcode`: finds the command that was meant, and ends with its exit code."""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from betcode._version import __version__

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    fill_closed_streams()
    try:
        code = run(arguments)
    except KeyboardInterrupt:  # while modules were loaded
        code = _INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said: while Python shuts down it would be a traceback
    gc.freeze()  # nor is garbage looked for on the way out: that is a tenth of a short command
    sys.exit(code)


def fill_closed_streams() -> None:
    """Whoever closed stdout or stderr wants none of it; a file or socket that came by its number would get it."""
    while (lowest := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(lowest, True)
    os.close(lowest)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def run(arguments: list[str]) -> int:
    """The exit code of the command that the arguments name."""
    if arguments in (["--version"], ["-V"]) and _said_version():  # before anything is imported
        return 0
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC's own lines: what went wrong is said once, in a sentence
    from betcode.cli.core.dispatch import dispatch, guarded

    if arguments[:1] == ["--complete"]:  # asked by the shells' completion scripts
        from betcode.cli.core.completion import complete

        return guarded(lambda: complete(arguments[1:]))
    return dispatch(arguments)


def _said_version() -> bool:
    """Whether it could be written; else it is said once more, by those who know what to make of it."""
    try:
        print(f"betcode {__version__}", flush=True)
    except OSError:
        return False
    return True
