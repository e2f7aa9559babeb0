"""The command `betcode`: finds the command that was meant, and ends with its exit code."""

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
    if arguments in (["--version"], ["-V"]):  # before anything is imported
        print(f"betcode {__version__}")
        sys.exit(0)
    try:
        code = _run(arguments)
    except KeyboardInterrupt:  # while modules were loaded
        code = _INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said: while Python shuts down it would be a traceback
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC's own lines: what went wrong is said once, in a sentence
    from betcode.cli.dispatch import dispatch, guarded

    if arguments[:1] == ["--complete"]:  # asked by the shells' completion scripts
        from betcode.cli.completion import complete

        return guarded(lambda: complete(arguments[1:]))
    return dispatch(arguments)
