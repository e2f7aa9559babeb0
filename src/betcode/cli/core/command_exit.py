"""Helpers for the end of a command: output that cannot be written, and the error to report."""

import os
import sys


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
