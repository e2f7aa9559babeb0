"""The command `obey`: finds the command that was meant, and ends with its exit code, or by the signal that ended it."""

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
    except KeyboardInterrupt:  # while modules were loaded
        ended = -signal.SIGINT
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said: while Python shuts down it would be a traceback
    if ended < 0:  # as any program ends by Ctrl-C or a reader that left: exit codes are 0, 1 and 2 alone
        signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    gc.freeze()  # nor is garbage looked for on the way out: that is a tenth of a short command
    sys.exit(ended)


def run(arguments: list[str]) -> int:
    """The exit code of the command that the arguments name; less than nothing is the number of a signal."""
    if arguments in (["--version"], ["-V"]) and _said_version():  # before anything is imported
        return 0
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC's own lines: what went wrong is said once, in a sentence
    from betcode.cli.obey.dispatch import dispatch, guarded

    if arguments[:1] == ["--complete"]:  # asked by the shells' completion scripts
        from betcode.cli.obey.completion import complete

        return guarded(lambda: complete(arguments[1:]))
    return dispatch(arguments)


def _said_version() -> bool:
    """Whether it could be written; else it is said once more, by those who know what to make of it."""
    try:
        print(f"obey {__version__}", flush=True)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
