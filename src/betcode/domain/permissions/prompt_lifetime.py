"""The lifetime of a prompt: its expiry, extensions and reminders. Values only, no clock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from betcode.domain.store.rows import PromptRow
from betcode.domain.values.times import LATEST_NS

MINUTE_NS = 60 * 1_000_000_000


class ExtendOn(StrEnum):
    """The activity that extends open prompts."""

    HUMAN = "human"  # a message, an answer
    ACTIVITY = "activity"  # also a client that attaches, or is attached


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The times that hold for all prompts."""

    ttl_ns: int
    reminders_ns: tuple[int, ...] = ()  # after it was asked, ascending

    def opened(self, row: PromptRow, now_ns: int, *, is_seen: bool) -> PromptRow:
        """A new prompt with its end. One that was asked while no daemon was there has all of its time before it."""
        began_ns = row.asked_ns if abs(now_ns - row.asked_ns) < MINUTE_NS else now_ns
        return replace(row, expires_ns=self._end(began_ns), forwarded_ns=now_ns if is_seen else 0)

    def extended(self, rows: Iterable[PromptRow], now_ns: int) -> list[PromptRow]:
        """Return the prompts of one session whose expiry is extended now: all or none, and at most once a minute."""
        end_ns = self._end(now_ns)
        gains = [row for row in rows if not is_over(row, now_ns) and end_ns > row.expires_ns]
        if not any(end_ns - row.expires_ns >= MINUTE_NS for row in gains):
            return []
        return [
            replace(row, expires_ns=end_ns, last_extended_ns=now_ns, extension_count=row.extension_count + 1)
            for row in gains
        ]

    def reminders_due(self, row: PromptRow, now_ns: int) -> Sequence[int]:
        """Return the numbers, from 1, of the reminders that are due and were not sent."""
        if is_over(row, now_ns):
            return ()
        come = sum(row.asked_ns + after_ns <= now_ns for after_ns in self.reminders_ns)
        return range(row.reminders_sent + 1, come + 1)

    def next_ns(self, row: PromptRow) -> int:
        """Return when the next action for it is due."""
        coming = [row.asked_ns + after_ns for after_ns in self.reminders_ns[row.reminders_sent :]]
        return min([row.expires_ns, *coming])

    def _end(self, began_ns: int) -> int:
        return min(began_ns + self.ttl_ns, LATEST_NS)


def is_over(row: PromptRow, now_ns: int) -> bool:
    """Return whether it has expired; a row of an earlier version has no expiry yet."""
    return 0 < row.expires_ns <= now_ns
