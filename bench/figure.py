"""One line of the table, and how a measurement is judged."""

import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Judged(Enum):
    """What is compared with the target."""

    AT_MOST = "at most"  # what was measured
    AT_LEAST = "at least"
    OVER_BASELINE = "over it, at most"  # what was measured, less the baseline
    SHARE_OF_BASELINE = "of it, at least"  # what was measured, as a part of the baseline


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured, beside what the same machine did in the same minute without betcode."""

    name: str
    baseline_is: str
    baseline: float
    measured: float
    target: float
    unit: str
    judged: Judged = Judged.AT_MOST
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Measured to baseline; None where there is nothing to divide by."""
        return self.measured / self.baseline if self.baseline else None

    @property
    def reached(self) -> bool:
        match self.judged:
            case Judged.AT_MOST:
                return self.measured <= self.target
            case Judged.AT_LEAST:
                return self.measured >= self.target
            case Judged.OVER_BASELINE:
                return self.measured - self.baseline <= self.target
            case Judged.SHARE_OF_BASELINE:
                return self.measured >= self.target * self.baseline


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is done for a figure, where, and how to say that it goes on."""

    quick: bool
    root: Path  # files go here; a directory of the figure's own
    progress: Callable[[str], None]

    @property
    def runs(self) -> int:
        return 1 if self.quick else 3

    def size(self, whole: int) -> int:
        """A tenth of it when it must be quick."""
        return max(1, whole // 10) if self.quick else whole


Bench = Callable[[Effort], Awaitable[list[Figure]]]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
