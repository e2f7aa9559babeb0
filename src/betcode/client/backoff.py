"""The delay before a retry."""

from collections.abc import Sequence
from dataclasses import dataclass

LADDER_MS: tuple[int, ...] = (100, 200, 400, 800, 1_600, 3_200, 5_000, 10_000, 30_000)


@dataclass(slots=True)
class Backoff:
    """A list of delays: each failure takes the next one, the last repeats, and success starts again."""

    steps_ms: Sequence[int] = LADDER_MS
    climbed: int = 0

    def next_s(self) -> float:
        """Return the delay before the next attempt, in seconds."""
        step = self.steps_ms[min(self.climbed, len(self.steps_ms) - 1)]
        self.climbed += 1
        return step / 1000

    def reset(self) -> None:
        self.climbed = 0
