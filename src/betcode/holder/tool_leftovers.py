"""End processes that the tools of a cancelled turn left running outside the agent's process tree."""

import os
import signal
import sys
import time
from collections.abc import Callable

from betcode.holder.platform import Process, descendants, processes, send_signal
from betcode.holder.terminate import stop_and_kill

_LOOK_EVERY_S = 0.02
_GIVE_UP_S = 5.0


def orphans(holder: int, agent: int, since: int, until: int) -> list[Process]:
    """Return processes started between two moments below an agent that have since lost their parent, with descendants.

    The moments are those of `platform.start_time_now`. Nothing is found if holders do not inherit orphans.
    """
    if sys.platform != "linux" or not 0 < since <= until:
        return []
    table = processes().values()
    left = [one for one in table if one.parent == holder and one.pid != agent and since <= one.start <= until]
    found = [*left, *descendants(*(one.pid for one in left))]
    return [one for one in found if not one.zombie and one.pid != os.getpid()]


def end_orphans(holder: int, agent: int, since: int, until: int, *, grace_s: float = 1.0) -> int:
    """End them, gently first; how many there were. Blocks for at most `grace_s` and five seconds."""
    return end_found(lambda: orphans(holder, agent, since, until), grace_s=grace_s)


def end_found(find: Callable[[], list[Process]], *, grace_s: float) -> int:
    """End what `find` finds, gently first; how many there were. Blocks for at most `grace_s` and five seconds."""
    found = find()
    for one in found:
        send_signal(one, signal.SIGTERM)
    seen = {one.pid for one in found}
    gentle_until = time.monotonic() + grace_s
    while (left := find()) and time.monotonic() < gentle_until:
        seen.update(one.pid for one in left)
        time.sleep(_LOOK_EVERY_S)
    give_up_at = time.monotonic() + _GIVE_UP_S
    while stop_and_kill(find) and time.monotonic() < give_up_at:
        time.sleep(_LOOK_EVERY_S)
    return len(seen)
