"""The command `betcode`: finds the command that was meant, and ends with its exit code."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from betcode._version import __version__


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):  # before anything is imported
        print(f"betcode {__version__}")
        sys.exit(0)
    if arguments[:1] == ["--complete"]:  # asked by the shells' completion scripts
        from betcode.cli.completion import complete

        sys.exit(complete(arguments[1:]))
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC's own lines: what went wrong is said once, in a sentence
    from betcode.cli.dispatch import dispatch

    sys.exit(dispatch(arguments))
