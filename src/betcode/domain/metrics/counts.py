"""Counters of the daemon since its start: packages add to them, telemetry reads them.

Counting never waits and sends nothing: it costs one addition, whether telemetry is enabled or not. Counters are changed
and read only on the event loop.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from betcode.domain.metrics.request_counts import RequestCounts


class DecisionOutcome(StrEnum):
    """The outcome of a tool call, as it is counted."""

    AUTO_ALLOW = "auto_allow"  # by a rule or a grant
    AUTO_DENY = "auto_deny"
    USER_ALLOW = "user_allow"
    USER_DENY = "user_deny"
    TIMEOUT = "timeout"  # expired without an answer


class Direction(StrEnum):
    """The kind of tokens."""

    INPUT = "input"
    OUTPUT = "output"
    CACHE_READ = "cache_read"


class Distribution:
    """A histogram: the number of values between two bounds, and their sum."""

    __slots__ = ("bounds", "buckets", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.buckets = [0] * (len(self.bounds) + 1)  # the last: over all bounds
        self.total = 0.0

    def add(self, value: float) -> None:
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self.buckets)


TURN_BOUNDS_S = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
SPAWN_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
COMMIT_BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)


@dataclass(slots=True)
class Counts:
    """One object for the whole daemon."""

    subprocess_spawns: int = 0  # agents started
    subprocess_crashes: int = 0  # agents that exited unexpectedly during a turn
    messages_processed: int = 0  # lines that agents wrote, as far as they were taken in
    permission_decisions: dict[DecisionOutcome, int] = field(default_factory=lambda: dict.fromkeys(DecisionOutcome, 0))
    tokens: dict[Direction, int] = field(default_factory=lambda: dict.fromkeys(Direction, 0))
    turns: Distribution = field(default_factory=lambda: Distribution(TURN_BOUNDS_S))  # seconds, from message to end
    spawns: Distribution = field(default_factory=lambda: Distribution(SPAWN_BOUNDS_S))  # seconds, to start an agent
    commits: Distribution = field(default_factory=lambda: Distribution(COMMIT_BOUNDS_S))  # seconds, waiting included
    commits_failed: int = 0
    requests: RequestCounts = field(default_factory=RequestCounts)
