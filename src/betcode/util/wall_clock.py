"""The wall clock of what is stored: it never exceeds what 64 bits of nanoseconds hold."""

import time

# In the year 2255. 64 bits end in 2262: the seven years between are for deadlines, which are counted from now on.
LATEST_NS = 9_000_000_000_000_000_000


def now_ns() -> int:
    """Nanoseconds since 1970. A clock that was set beyond LATEST_NS stays there."""
    return min(time.time_ns(), LATEST_NS)
