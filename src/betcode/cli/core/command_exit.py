"""The end of a command: its exit code, output that cannot be written, and the error to report."""

import os
import sys
from collections.abc import Callable


def run_to_exit_code(run: Callable[[], int], end_with: Callable[[BaseException], int]) -> int:
    """Call `run` and return its exit code; `end_with` reports an exception and returns the exit code for it."""
    try:
        code = _code_of(run)
        sys.stdout.flush()
    except (KeyboardInterrupt, BaseExceptionGroup, Exception) as error:  # noqa: BLE001 - the top of the program
        return end_with(error)
    return code


def _code_of(run: Callable[[], int]) -> int:
    try:
        return run()
    except SystemExit as ended:  # from argparse, which has printed help or an error
        return ended.code if isinstance(ended.code, int) else 0


def discard_unwritten() -> None:
    """Discard unwritten output. It would raise again while Python shuts down and change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def first_cause(error: BaseException) -> BaseException:
    """Return the first exception in a group that a task group raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
