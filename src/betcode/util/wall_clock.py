"""The wall clock for stored times: it never exceeds 64 bits of nanoseconds."""

import time

# In the year 2255. 64 bits end in 2262: the seven years between are for deadlines, which are counted from now on.
LATEST_NS = 9_000_000_000_000_000_000


def now_ns() -> int:
    """Return nanoseconds since 1970, at most LATEST_NS."""
    return min(time.time_ns(), LATEST_NS)
