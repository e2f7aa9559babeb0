"""The port to the time of day, for work that is due at a stored time."""

from typing import Protocol


class Clock(Protocol):
    """Moments are nanoseconds since the epoch: they mean the same to the next daemon and after a suspend."""

    def now_ns(self) -> int: ...

    async def reaches(self, at_ns: int) -> None:
        """Return soon after the clock reaches that moment, also if the clock is changed meanwhile."""
        ...
