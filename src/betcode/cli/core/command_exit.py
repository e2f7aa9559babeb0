"""The last moments of a command: what cannot be written any more, and which error it was."""

import os
import sys


def discard_unwritten() -> None:
    """What cannot be written must not raise again while Python shuts down: that would change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def first_cause(error: BaseException) -> BaseException:
    """The first cause in a group that a task group made."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
