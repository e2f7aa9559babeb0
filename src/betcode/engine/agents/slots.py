"""Slots: limit how many turns run at once, and queue the rest."""

from collections import deque
from typing import Protocol

from betcode.domain.errors import PoolExhausted


class SlotTaker(Protocol):
    def slot_granted(self) -> None: ...


class Slots:
    """A slot belongs to a turn at work. Asking twice is asking once; what began by itself is counted too."""

    def __init__(self, limit: int, queue_limit: int) -> None:
        self.limit = limit
        self.queue_limit = queue_limit
        self._at_work: set[SlotTaker] = set()
        self._line: deque[SlotTaker] = deque()

    @property
    def at_work(self) -> int:
        return len(self._at_work)

    @property
    def waiting(self) -> int:
        return len(self._line)

    def admit(self, taker: SlotTaker) -> None:
        """Raises PoolExhausted where neither a slot nor a place in line is free."""
        if taker in self._at_work or taker in self._line or self.at_work < self.limit:
            return
        if self.waiting >= self.queue_limit:
            raise PoolExhausted(self.at_work, self.waiting)

    def has(self, taker: SlotTaker) -> bool:
        return taker in self._at_work

    def is_waiting(self, taker: SlotTaker) -> bool:
        return taker in self._line

    def ask(self, taker: SlotTaker, *, first: bool = False) -> None:
        """Grant at once or in turn; `first` is for work that was begun and waited for a person."""
        if taker in self._at_work or taker in self._line:
            return
        if self.at_work < self.limit:
            self._grant(taker)
        elif first:
            self._line.appendleft(taker)
        else:
            self._line.append(taker)

    def take(self, taker: SlotTaker) -> None:
        """Count work that has begun without asking, even past the limit."""
        if taker in self._line:
            self._line.remove(taker)
        self._at_work.add(taker)

    def give_back(self, taker: SlotTaker) -> None:
        if taker in self._line:
            self._line.remove(taker)
        self._at_work.discard(taker)
        self._grant_what_is_free()

    def resize(self, limit: int, queue_limit: int) -> None:
        """Other limits from now on; nobody loses a slot or a place in line."""
        self.limit, self.queue_limit = limit, queue_limit
        self._grant_what_is_free()

    def _grant_what_is_free(self) -> None:
        while self._line and self.at_work < self.limit:
            self._grant(self._line.popleft())

    def _grant(self, taker: SlotTaker) -> None:
        self._at_work.add(taker)
        taker.slot_granted()
