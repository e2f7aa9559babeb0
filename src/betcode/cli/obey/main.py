"""The entry point of `obey`: run the command, then exit with its code or end by its signal."""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from betcode._version import __version__
from betcode.cli.main import fill_closed_streams


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    fill_closed_streams()
    try:
        ended = run(arguments)
    except KeyboardInterrupt:  # Ctrl-C while modules were loaded
        ended = -signal.SIGINT
    # Output is complete: Ctrl-C while Python shuts down would print a traceback
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if ended < 0:  # end by the signal (Ctrl-C, closed pipe) as other programs do: exit codes are only 0, 1 and 2
        signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    gc.freeze()  # no garbage collection at exit: it takes a tenth of the time of a short command
    sys.exit(ended)


def run(arguments: list[str]) -> int:
    """Return the exit code of the command that the arguments name, or a negative signal number."""
    if arguments in (["--version"], ["-V"]) and _printed_version():  # before anything is imported
        return 0
    # Silence gRPC's own log lines: errors are printed once, as a sentence
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from betcode.cli.obey.dispatch import dispatch, guarded

    if arguments[:1] == ["--complete"]:  # called by the shells' completion scripts
        from betcode.cli.obey.completion import complete

        return guarded(lambda: complete(arguments[1:]))
    return dispatch(arguments)


def _printed_version() -> bool:
    """Print the version; False if it cannot be written, so that the caller reports the error."""
    try:
        print(f"obey {__version__}", flush=True)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
