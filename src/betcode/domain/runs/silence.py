"""How long a peer has been silent, counted only while it was observed."""

from dataclasses import dataclass

LONGEST_STEP_S = 2.0  # between two observations; a longer gap was a pause of the process or of the whole machine


@dataclass(frozen=True, slots=True)
class Silence:
    """A value; the caller passes the time of a monotonic clock."""

    seconds: float = 0.0
    looked_at: float | None = None

    def looked(self, now: float, heard_at: float, *, watched: bool) -> "Silence":
        """Return the value after an observation: a sign of life, or a pause in observation, resets it."""
        if self.looked_at is None or not watched or heard_at >= self.looked_at:
            return Silence(0.0, now)
        return Silence(self.seconds + min(max(now - self.looked_at, 0.0), LONGEST_STEP_S), now)
