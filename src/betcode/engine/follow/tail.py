"""The newest events of one session in memory, and everyone who waits for more."""

from bisect import bisect_right
from collections.abc import Sequence

from betcode.domain.store.rows import Batch, StoredEvent
from betcode.domain.values.identifiers import Seq
from betcode.util.signal import ChangeSignal

LIMIT_EVENTS = 1024  # beyond this a follower reads from the log
LIMIT_BYTES = 1024 * 1024
ASIDES_KEPT = 16


class Tail:
    """Announcing wakes followers and waits for nobody; what is old falls off and is read from the log."""

    def __init__(self, head: Seq) -> None:
        self.head = head
        self.closed = False
        self._seqs: list[int] = []
        self._data: list[bytes] = []
        self._bytes = 0
        self._floor = int(head)  # everything after this number is in memory
        self._batches: dict[tuple[int, int], Batch] = {}  # followers at one position share one batch
        self._asides: list[bytes] = []
        self._asides_before = 0  # how many have been dropped
        self._board: dict[str, tuple[int, bytes]] = {}
        self.posted = 0  # how often something was put on the board
        self._grown = ChangeSignal()

    def announce(self, events: Sequence[StoredEvent]) -> None:
        """Make committed events known."""
        if not events:
            return
        self._batches.clear()
        for event in events:
            self._seqs.append(event.seq)
            self._data.append(event.data)
            self._bytes += len(event.data)
        self.head = events[-1].seq
        if len(self._seqs) > LIMIT_EVENTS or self._bytes > LIMIT_BYTES:
            self._shorten()
        self._grown.notify()

    def say(self, event: bytes) -> None:
        """Tell everyone something that is not history: unnumbered, not stored, heard by those who listen now."""
        self._asides.append(event)
        if len(self._asides) > ASIDES_KEPT:
            del self._asides[0]
            self._asides_before += 1
        self._grown.notify()

    def post(self, subject: str, event: bytes) -> None:
        """Put up how something stands that is not history: whoever listens, and whoever comes, hears the newest."""
        self.posted += 1
        self._board[subject] = (self.posted, event)
        self._grown.notify()

    def take_down(self, subject: str) -> None:
        """It does not stand so any more: whoever comes later need not hear of it."""
        self._board.pop(subject, None)

    def posted_since(self, read: int) -> tuple[bytes, ...]:
        """What has changed on the board, the newest of each subject."""
        return tuple(event for number, event in sorted(self._board.values()) if number > read)

    def close(self) -> None:
        """The session has ended: followers leave once they have had everything."""
        self.closed = True
        self._grown.notify()

    def since(self, after: Seq, limit_bytes: int) -> Batch | None:
        """What comes after `after`, within the limit but at least one event; None where memory does not reach back."""
        if after < self._floor:
            return None
        known = self._batches.get((after, limit_bytes))
        if known is not None:
            return known
        start = bisect_right(self._seqs, after)
        end, size = start, 0
        while end < len(self._data) and (end == start or size + len(self._data[end]) <= limit_bytes):
            size += len(self._data[end])
            end += 1
        if end == start:
            return Batch(after, after, ())
        batch = Batch(Seq(self._seqs[start]), Seq(self._seqs[end - 1]), tuple(self._data[start:end]))
        self._batches[after, limit_bytes] = batch
        return batch

    @property
    def asides_said(self) -> int:
        return self._asides_before + len(self._asides)

    def asides_since(self, heard: int) -> tuple[bytes, ...]:
        return tuple(self._asides[max(0, heard - self._asides_before) :])

    def wake(self) -> None:
        """Let everyone look again, because something beside the events has changed."""
        self._grown.notify()

    async def change(self) -> None:
        """Return at the next announcement, aside, post or wake."""
        await self._grown.wait()

    def _shorten(self) -> None:
        keep_from = max(0, len(self._seqs) - LIMIT_EVENTS * 3 // 4)
        dropped_bytes = sum(len(data) for data in self._data[:keep_from])
        while keep_from < len(self._data) and self._bytes - dropped_bytes > LIMIT_BYTES:
            dropped_bytes += len(self._data[keep_from])
            keep_from += 1
        if keep_from:
            self._floor = self._seqs[keep_from - 1]
            del self._seqs[:keep_from]
            del self._data[:keep_from]
            self._bytes -= dropped_bytes
