"""The entry point of `betcode`: run the command and exit with its code."""

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
    except KeyboardInterrupt:  # Ctrl-C while modules were loaded
        code = _INTERRUPTED
    # Output is complete: Ctrl-C while Python shuts down would print a traceback
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # no garbage collection at exit: it takes a tenth of the time of a short command
    sys.exit(code)


def fill_closed_streams() -> None:
    """Open /dev/null for closed standard streams; otherwise a later file or socket with that number gets the output."""
    while (lowest := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(lowest, True)
    os.close(lowest)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def run(arguments: list[str]) -> int:
    """Return the exit code of the command that the arguments name."""
    if arguments in (["--version"], ["-V"]) and _printed_version():  # before anything is imported
        return 0
    # Silence gRPC's own log lines: errors are printed once, as a sentence
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from betcode.cli.core.dispatch import dispatch, guarded

    if arguments[:1] == ["--complete"]:  # called by the shells' completion scripts
        from betcode.cli.completion.scripts import complete

        return guarded(lambda: complete(arguments[1:]))
    return dispatch(arguments)


def _printed_version() -> bool:
    """Print the version; False if it cannot be written, so that the caller reports the error."""
    try:
        print(f"betcode {__version__}", flush=True)
    except OSError:
        return False
    return True
