"""Ends this process at a named step, so that tests can show what a crash exactly there leaves behind."""

import os
import signal
from collections.abc import Callable, Mapping

VARIABLE = "BETCODE_FAULT"  # "after-commit:7": SIGKILL at the seventh time


def faults_of(environ: Mapping[str, str]) -> Callable[[str], None]:
    """What the store and the engine call at their named steps; without the variable it does nothing."""
    wanted, _, times = environ.get(VARIABLE, "").partition(":")
    if not wanted:
        return lambda _: None
    left = int(times or 1)

    def fault(step: str) -> None:
        nonlocal left
        if step == wanted:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return fault
