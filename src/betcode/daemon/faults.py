"""Faults that tests inject into a daemon by its environment. Without the variable nothing happens.

`after-commit:7` ends the process with SIGKILL at the seventh time that the place is reached. `raise:PLACE@SESSION`
raises an error each time that this session reaches the place (see `engine/fault_points.py`); without `@SESSION`,
each time that any session does. Several faults are separated by `;`.
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
    """What the store and the engine call at their named places."""
    wanted = [each for each in environ.get(VARIABLE, "").split(";") if each]
    if not wanted:
        return no_faults
    raising = {each.removeprefix(_RAISE).partition("@")[::2] for each in wanted if each.startswith(_RAISE)}
    places = (each.partition(":") for each in wanted if not each.startswith(_RAISE))
    left = {place: int(times or 1) for place, _, times in places}

    def fault(place: str, session_id: str = "", /) -> None:
        if (place, session_id) in raising or (place, "") in raising:
            raise InjectedFault(f"injected at {place}")
        if place in left:
            left[place] -= 1
            if left[place] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return fault
