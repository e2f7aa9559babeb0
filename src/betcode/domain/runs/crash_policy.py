"""How often, and after what delay, a crashed agent is restarted. Values only: the caller passes the time."""

from dataclasses import dataclass, replace

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class CrashPolicy:
    first_wait_s: float = 0.5  # doubles with every crash of the same turn,
    longest_wait_s: float = 30.0  # up to this
    limit: int = 5  # so many crashes
    within_s: float = 60.0  # in so short a time are too many


@dataclass(frozen=True, slots=True)
class CrashHistory:
    """The crashes of one session that still count."""

    times_ns: tuple[int, ...] = ()
    in_a_row: int = 0  # with no finished turn between them

    def with_crash(self, at_ns: int, policy: CrashPolicy) -> "CrashHistory":
        """One more. A clock that was set back makes old crashes forgotten, not eternal."""
        window_ns = policy.within_s * _NS
        recent = tuple(time_ns for time_ns in self.times_ns if abs(at_ns - time_ns) < window_ns)
        return CrashHistory((*recent, at_ns), self.in_a_row + 1)

    def turn_finished(self) -> "CrashHistory":
        """Reset the delay, so that the next crash counts as a first one; the number of crashes in the last minute is
        unchanged.
        """
        return replace(self, in_a_row=0)

    def too_many(self, policy: CrashPolicy) -> bool:
        return len(self.times_ns) >= policy.limit

    def wait_s(self, policy: CrashPolicy) -> float:
        """Return how long to wait after the newest crash."""
        doublings = min(max(self.in_a_row - 1, 0), 62)
        return min(policy.first_wait_s * float(1 << doublings), policy.longest_wait_s)

    def due_ns(self, policy: CrashPolicy) -> int:
        """Return when the next agent is started; 0 if none crashed."""
        return self.times_ns[-1] + int(self.wait_s(policy) * _NS) if self.times_ns else 0

    def left_to_wait_s(self, policy: CrashPolicy, now_ns: int) -> float:
        """Return the rest of that wait; a changed clock makes it neither longer nor negative."""
        wait_s = self.wait_s(policy)
        passed_s = (now_ns - self.times_ns[-1]) / _NS if self.times_ns else wait_s
        return min(max(wait_s - passed_s, 0.0), wait_s)
