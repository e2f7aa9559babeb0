"""Faults that tests inject into a daemon by its environment. Without the variable nothing happens.

`after-commit:7` kills the process with SIGKILL when that fault point is reached for the seventh time.
`raise:POINT@SESSION` raises an error each time this session reaches the point (see `engine/fault_points.py`); without
`@SESSION`, each time any session does. Several faults are separated by `;`.
"""

import os
import signal
from collections.abc import Mapping

from betcode.engine import Faults, no_faults

VARIABLE = "BETCODE_FAULT"
_RAISE = "raise:"


class InjectedFault(Exception):
    """An error that a test asked for."""


def faults_of(environ: Mapping[str, str]) -> Faults:
    """Return the functions that the store and the engine call at their fault points."""
    faults = [each for each in environ.get(VARIABLE, "").split(";") if each]
    if not faults:
        return no_faults
    raising = {each.removeprefix(_RAISE).partition("@")[::2] for each in faults if each.startswith(_RAISE)}
    points = (each.partition(":") for each in faults if not each.startswith(_RAISE))
    remaining = {point: int(times or 1) for point, _, times in points}

    def fault(point: str, session_id: str = "", /) -> None:
        if (point, session_id) in raising or (point, "") in raising:
            raise InjectedFault(f"injected at {point}")
        if point in remaining:
            remaining[point] -= 1
            if remaining[point] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return fault
