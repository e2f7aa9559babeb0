"""Wall clock time, and waiting until a given time."""

import anyio

from betcode.util import wall_clock

_NS = 1_000_000_000
LOOK_EVERY_S = 1.0


class WallClock:
    """Timers stand still while a machine sleeps and hear of no clock that is set: so it is looked at every second."""

    def now_ns(self) -> int:
        return wall_clock.now_ns()

    async def reaches(self, at_ns: int) -> None:
        """Return soon after the clock shows that moment, however it came to; also when it was set back meanwhile."""
        seen_ns = wall_clock.now_ns()
        while seen_ns < at_ns:
            await anyio.sleep(min((at_ns - seen_ns) / _NS, LOOK_EVERY_S))
            now_ns = wall_clock.now_ns()
            if now_ns < seen_ns:
                return
            seen_ns = now_ns
