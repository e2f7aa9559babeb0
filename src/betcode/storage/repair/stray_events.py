"""Recover events from pages that no tree references any more, because a page of the tree is damaged.

The format is that of SQLite's documentation ("Database File Format"): table leaf pages, their cells and overflow pages.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_TABLE_LEAF = 13
_LEAF_HEADER = 8
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 0, 9: 0}
_LONGEST_BYTES = 2**30  # SQLite itself holds no more


@dataclass(frozen=True, slots=True)
class StrayEvent:
    place: int
    kind: int
    data: bytes


class _NoCell(Exception):
    """It does not hold what an event is."""


def stray_events(path: Path) -> Iterator[StrayEvent]:
    """Every event found on any page of the file; some may be deleted ones, or duplicates.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(100)
        page_bytes = int.from_bytes(head[16:18]) or 4096
        page_bytes = 65536 if page_bytes == 1 else page_bytes
        usable = page_bytes - (head[20] if len(head) == 100 else 0)
        number = 1
        while usable >= 480:
            file.seek(number * page_bytes)
            page = file.read(page_bytes)
            if len(page) < page_bytes:
                return
            if page[0] == _TABLE_LEAF:
                yield from _on_page(file, page, page_bytes, usable)
            number += 1


def _on_page(file: BinaryIO, page: bytes, page_bytes: int, usable: int) -> Iterator[StrayEvent]:
    for index in range(min(int.from_bytes(page[3:5]), page_bytes // 4)):
        at = int.from_bytes(page[_LEAF_HEADER + 2 * index :][:2])
        try:
            length, at = _varint(page, at)
            place, at = _varint(page, at)
            yield _event(place, _payload(file, page[:usable], at, length, page_bytes))
        except (_NoCell, IndexError):
            continue


def _payload(file: BinaryIO, page: bytes, at: int, length: int, page_bytes: int) -> bytes:
    usable = len(page)
    if length > _LONGEST_BYTES:
        raise _NoCell
    local = length
    if length > usable - 35:
        least = (usable - 12) * 32 // 255 - 23
        local = least + (length - least) % (usable - 4)
        local = least if local > usable - 35 else local
    parts = [page[at : at + local]]
    missing = length - len(parts[0])
    following = int.from_bytes(page[at + local : at + local + 4])
    while missing > 0:
        file.seek((following - 1) * page_bytes if following > 1 else 0)
        more = file.read(usable)
        if following <= 1 or len(more) < usable:
            raise _NoCell
        parts.append(more[4 : 4 + missing])
        missing -= len(parts[-1])
        following = int.from_bytes(more[:4])
    return b"".join(parts)


def _event(place: int, record: bytes) -> StrayEvent:
    """A record of three columns: the row id (stored as null), an integer, and bytes."""
    head, at = _varint(record, 0)
    kinds: list[int] = []
    while at < head:
        kind, at = _varint(record, at)
        kinds.append(kind)
    if at != head or len(kinds) != 3 or kinds[0] != 0 or kinds[1] not in _INTEGER_BYTES or place >= 2**63:
        raise _NoCell
    size = kinds[2] // 2 - 6
    if kinds[2] < 12 or kinds[2] % 2:
        raise _NoCell
    data_at = head + _INTEGER_BYTES[kinds[1]]
    if data_at + size != len(record):
        raise _NoCell
    number = kinds[1] - 8 if kinds[1] >= 8 else int.from_bytes(record[head:data_at], signed=True)
    return StrayEvent(place, number, record[data_at:])


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where the next thing begins. Raises IndexError at the end of the data."""
    value = 0
    for count in range(9):
        byte = data[at + count]
        if count == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + count + 1
    raise AssertionError("a number has nine bytes at most")
