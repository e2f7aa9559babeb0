"""Rate limits for TCP clients. Clients at the unix socket are not limited."""

import time
from collections import deque
from collections.abc import Callable

from betcode.config.settings import ListenSettings
from betcode.domain.errors import RateLimited
from betcode.server.rpc import Caller

_MINUTE_S = 60.0
_HOUR_S = 3600.0
_KEYS_LIMIT = 10_000


class Window:
    """Allows at most a number of events of one kind in any period; refused ones are not counted."""

    def __init__(self, limit: int, length_s: float, clock: Callable[[], float]) -> None:
        self.limit = limit  # 0: none
        self._length_s = length_s
        self._clock = clock
        self._taken: dict[str, deque[float]] = {}

    def take(self, key: str) -> None:
        """Count one event; raise RateLimited with the time to retry when there are too many."""
        if not self.limit:
            return
        now = self._clock()
        taken = self._taken.pop(key, None) or deque()
        while taken and taken[0] <= now - self._length_s:
            taken.popleft()
        self._taken[key] = taken  # moved to the end, so that the first is the least recently used
        if len(self._taken) > _KEYS_LIMIT:
            del self._taken[next(iter(self._taken))]
        if len(taken) >= self.limit:
            # With a limit that was lowered meanwhile, more than one has to run out first.
            oldest = taken[len(taken) - self.limit]
            raise RateLimited(self.limit, oldest + self._length_s - now, taken[-1] + self._length_s - now)
        taken.append(now)


class RateLimits:
    """Limits messages per session, and new sessions per address, because a client chooses its own id."""

    def __init__(self, settings: ListenSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._messages = Window(0, _MINUTE_S, clock)
        self._sessions = Window(0, _HOUR_S, clock)
        self.use(settings)

    def use(self, settings: ListenSettings) -> None:
        """Replace the limits; events already counted remain counted."""
        self._messages.limit = settings.messages_per_minute
        self._sessions.limit = settings.sessions_per_hour

    def message(self, caller: Caller, session: str) -> None:
        """Raises RateLimited."""
        if caller.tcp is not None:
            self._messages.take(session)

    def session(self, caller: Caller) -> None:
        """Raises RateLimited."""
        if caller.tcp is not None:
            self._sessions.take(caller.tcp.group)
