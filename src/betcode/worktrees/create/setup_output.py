"""The output and progress of a setup, streamed to a listener and stored, both bounded."""

from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TypeAlias

from betcode.domain.values.text import without_escapes
from betcode.util.signal import ResettableEvent

_WAITING_BYTES = 1024 * 1024  # for a listener that does not read
_PIECE_BYTES = 64 * 1024
_HEAD_BYTES = 64 * 1024
_TAIL_BYTES = 192 * 1024
_LAST_BYTES = 8 * 1024  # the last lines are taken from these


@dataclass(frozen=True, slots=True)
class SetupStep:
    what: str
    number: int
    of: int = 0  # 0: unknown yet


@dataclass(frozen=True, slots=True)
class SetupOutput:
    data: bytes
    left_out_bytes: int = 0  # before `data`


Progress: TypeAlias = SetupStep | SetupOutput


class ProgressFeed:
    """Progress for one listener, who may be slow or disconnected: nothing waits for it."""

    def __init__(self) -> None:
        self._items: deque[Progress] = deque()
        self._waiting_bytes = 0
        self._news = ResettableEvent()
        self._is_closed = False

    def step(self, what: str, number: int, of: int = 0) -> None:
        self._add(SetupStep(what, number, of))

    def output(self, data: bytes) -> None:
        """Add output; if it arrives too fast, the oldest part is dropped and counted."""
        self._waiting_bytes += len(data)
        last = self._items[-1] if self._items else None
        if isinstance(last, SetupOutput) and len(last.data) + len(data) <= _PIECE_BYTES:
            self._items[-1] = SetupOutput(last.data + data, last.left_out_bytes)
        else:
            self._add(SetupOutput(data))
        while self._waiting_bytes > _WAITING_BYTES:
            self._drop_oldest()

    def close(self) -> None:
        """End the feed."""
        self._is_closed = True
        self._news.set()

    async def follow(self) -> AsyncGenerator[Progress, None]:
        """All of it, once and in order, until it is closed; for one listener."""
        while True:
            while self._items:
                item = self._items.popleft()
                if isinstance(item, SetupOutput):
                    self._waiting_bytes -= len(item.data)
                yield item
            if self._is_closed:
                return
            self._news.clear()
            await self._news.wait()

    def _add(self, item: Progress) -> None:
        self._items.append(item)
        self._news.set()

    def _drop_oldest(self) -> None:
        """Drop the oldest piece; the next one carries the number of missing bytes. The newest is never dropped."""
        places = [number for number, item in enumerate(self._items) if isinstance(item, SetupOutput)]
        oldest, heir = self._items[places[0]], self._items[places[1]]
        assert isinstance(oldest, SetupOutput)
        assert isinstance(heir, SetupOutput)
        missing = oldest.left_out_bytes + len(oldest.data) + heir.left_out_bytes
        self._items[places[1]] = SetupOutput(heir.data, missing)
        del self._items[places[0]]
        self._waiting_bytes -= len(oldest.data)


@dataclass(slots=True)
class OutputBuffer:
    """The beginning and the end of a setup's output, as bytes."""

    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    total_bytes: int = 0

    def add(self, data: bytes) -> None:
        self.total_bytes += len(data)
        context = _HEAD_BYTES - len(self._head)
        if context > 0:
            self._head += data[:context]
            data = data[context:]
        self._tail += data[-_TAIL_BYTES:]
        if len(self._tail) > 2 * _TAIL_BYTES:
            del self._tail[:-_TAIL_BYTES]

    def packed(self) -> bytes:
        """Return one value to store: the length of the beginning and the number of missing bytes, then both parts."""
        tail = self._tail[-_TAIL_BYTES:]
        missing = self.total_bytes - len(self._head) - len(tail)
        return b"%d %d\n%b%b" % (len(self._head), missing, bytes(self._head), bytes(tail))

    def last_words(self, lines: int, characters: int) -> str:
        """Return the last lines with text, without terminal control characters."""
        return last_words(bytes(self._head + self._tail), lines, characters)


def unpacked(kept: bytes) -> list[SetupOutput]:
    """Yield the stored output in pieces that can be sent."""
    if not kept:
        return []
    facts, _, data = kept.partition(b"\n")
    head_bytes, missing = map(int, facts.split())
    head, tail = data[:head_bytes], data[head_bytes:]
    pieces = [SetupOutput(head[at : at + _PIECE_BYTES]) for at in range(0, len(head), _PIECE_BYTES)]
    starts = range(0, len(tail), _PIECE_BYTES)
    return pieces + [SetupOutput(tail[at : at + _PIECE_BYTES], 0 if at else missing) for at in starts]


def last_words(data: bytes, lines: int, characters: int) -> str:
    """Return the last lines with text, without terminal control characters; truncated at their beginning."""
    text = without_escapes(data[-_LAST_BYTES:].decode(errors="replace")).replace("\r", "\n")
    said = ["".join(filter(str.isprintable, line)).strip() for line in text.split("\n")]
    words = "\n".join([line for line in said if line][-lines:])
    return words if len(words) <= characters else "…" + words[1 - characters :]
