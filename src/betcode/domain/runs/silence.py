"""How long a peer has been silent, counted only while somebody listened."""

from dataclasses import dataclass

LONGEST_STEP_S = 2.0  # between two looks; what is longer was slept through, by us or by the whole machine


@dataclass(frozen=True, slots=True)
class Silence:
    """A value; whoever looks brings the time, of a clock that nobody sets."""

    seconds: float = 0.0
    looked_at: float | None = None

    def looked(self, now: float, heard_at: float, *, watched: bool) -> "Silence":
        """One more look: a word since the last one, or not being watched, begins it anew."""
        if self.looked_at is None or not watched or heard_at >= self.looked_at:
            return Silence(0.0, now)
        return Silence(self.seconds + min(max(now - self.looked_at, 0.0), LONGEST_STEP_S), now)
