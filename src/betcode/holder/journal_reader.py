"""Read a journal while it is written: complete records, each once, in order.

Bytes that are not a record are skipped and reported, but only when they can no longer become one: a later record can be
read, a later segment exists, or the journal is finished. The reader waits for the rest of an incomplete tail.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.holder.journal import PART_SUFFIX
from betcode.holder.segments import Segment, compress_behind, segment_starts
from betcode.util.wall_clock import LATEST_NS

__all__ = ["JournalReader", "compress_behind"]

_READ_BYTES = 256 * 1024
_HEADER_BYTES = 160
_MOST_BYTES = 128 * 1024 * 1024  # no record is longer; a length beyond it is damage
_DAMAGE_BYTES = 4 * 1024 * 1024  # bytes that are no record are skipped in pieces of this size, not collected
# Found by its end, which is rare in any text; searching for its beginning takes a second for three megabytes.
_HEADER_END = re.compile(rb" [0-9a-f]{8}\n")
_HEADER = re.compile(rb"[a-z]{1,16}(?:\.part)? \d{1,20} \d{1,20} \d{1,20} \d{1,10} [0-9a-f]{8}\n\Z")
_CHECKSUM_DIGITS = 8
_KINDS = {kind.value.encode(): kind for kind in RecordKind if kind is not RecordKind.DAMAGED}


class _LongLine:
    """A line of which only parts have arrived; at most the limit is stored."""

    __slots__ = ("broken", "kept", "kept_bytes", "length", "offset")

    def __init__(self, offset: int, *, broken: bool = False) -> None:
        self.offset = offset
        self.kept: list[bytes] = []
        self.kept_bytes = 0
        self.length = 0
        self.broken = broken  # some part of it is lost

    def add(self, data: bytes, limit_bytes: int) -> None:
        piece = data[: limit_bytes - self.kept_bytes]
        if piece:
            self.kept.append(piece)
            self.kept_bytes += len(piece)
        self.length += len(data)


class _WouldWait(Exception):
    """A file has to be opened, listed or read from the disk, and the caller must not wait for that."""


class JournalReader:
    """A position in a journal; `read` returns the complete records after it.

    A line over `line_limit_bytes` is returned as `too_long`, with its beginning as data and its true length as number.
    """

    def __init__(self, directory: Path, offset: int = 0, *, line_limit_bytes: int) -> None:
        self._directory = directory
        self._limit_bytes = line_limit_bytes
        self._segment: Segment | None = None
        self._following: int | None = None  # start of the next segment, once known
        self._buffer = b""
        self._base = offset  # logical offset of the buffer's first byte
        self._at = 0  # how much of the buffer was taken
        self._lines: dict[RecordKind, _LongLine] = {}
        self._finished = False
        self._reached_end = False  # of the file, at the last check
        self._looking_back = False
        self._may_wait = True
        self._times = (0, 0)  # of the last record: damage gets the time of the record before it
        self.position = offset  # end of the last returned record; reading can continue from here at any time

    @property
    def seen(self) -> int:
        """Return how far it has read: there is nothing new until the journal's end is beyond this."""
        return self._base + len(self._buffer)

    def finish(self) -> None:
        """Report incomplete data as damaged from now on, because the journal has no writer."""
        self._finished = True

    def close(self) -> None:
        """Close the files; the position remains."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def read(self, limit_bytes: int) -> list[Record]:
        """The next whole records, about `limit_bytes` of them; empty when there is none. Waits for the disk."""
        records: list[Record] = []
        try:
            self._collect(records, limit_bytes)
        except _WouldWait:
            if not records:
                raise
        if records:
            self._times = records[-1].wall_ns, records[-1].mono_ns
            self.position = records[-1].end
        return records

    def read_cached(self, limit_bytes: int) -> list[Record] | None:
        """Like `read`, but only from memory; None if only `read` can answer, which then belongs in a thread."""
        self._may_wait = False
        try:
            return self.read(limit_bytes)
        except _WouldWait:
            return None
        finally:
            self._may_wait = True

    def _collect(self, records: list[Record], limit_bytes: int) -> None:
        taken = 0
        while taken < limit_bytes or not records:
            before = self._base + self._at
            reason = self._take_whole(records, max(1, limit_bytes - taken))
            taken += self._base + self._at - before
            if records:
                self._times = records[-1].wall_ns, records[-1].mono_ns
            if reason is None:
                continue
            if records and self._reached_end:
                break  # what there is more can wait, and what we have need not
            if reason and len(self._buffer) - self._at > _DAMAGE_BYTES and self._skip_damage(reason, records):
                continue
            if not self._fill() and not self._step_over(reason, records):
                break

    def _wait_for_files(self) -> None:
        """Called before a file is opened, listed or examined; nothing was changed yet that cannot be repeated."""
        if not self._may_wait:
            raise _WouldWait

    def _take_whole(self, records: list[Record], limit_bytes: int) -> str | None:
        """Take records from the buffer; why the next one cannot be had, or None when the limit is reached."""
        buffer, base, at = self._buffer, self._base, self._at
        stop = at + limit_bytes
        last_prefix, kind, seed, wall_ns, mono_ns, number = b"", RecordKind.NOTE, 0, 0, 0, 0
        part = joined = False
        try:
            while at < stop:
                newline = buffer.find(b"\n", at, at + _HEADER_BYTES)
                if newline < 0:
                    return "" if len(buffer) - at < _HEADER_BYTES else "no header"
                prefix, length_text, checksum = buffer[at:newline].rsplit(b" ", 2)
                if prefix != last_prefix:  # all lines of one read share it
                    name, wall, mono, count = prefix.split(b" ")
                    wall_ns, mono_ns, number = min(int(wall), LATEST_NS), int(mono), int(count)
                    part = name.endswith(PART_SUFFIX)
                    kind = _KINDS.get(name.removesuffix(PART_SUFFIX), RecordKind.NOTE)
                    joined = part or (number > 0 and (kind is RecordKind.OUT or kind is RecordKind.ERR))
                    last_prefix, seed = prefix, crc32(prefix)
                begin = newline + 1
                end = begin + int(length_text)
                if not begin <= end <= begin + _MOST_BYTES:
                    return "a header without sense"
                if end >= len(buffer):
                    return ""
                data = buffer[begin:end]
                # The newline after it is optional: a record is complete without it, and the next one begins after it.
                if crc32(data, seed) != int(checksum, 16) or len(checksum) != _CHECKSUM_DIGITS:
                    return "a wrong checksum"
                if joined and self._began_before(kind, number, base + at):
                    self._wait_for_files()
                offset, at = base + at, end + 1
                if joined:
                    self._join(records, kind, part, number, wall_ns, mono_ns, data, offset, base + at)
                elif len(data) > self._limit_bytes and kind is not RecordKind.IN:
                    beginning = data[: self._limit_bytes]
                    records.append(Record(kind, len(data), wall_ns, mono_ns, beginning, offset, base + at, True))
                else:
                    records.append(Record(kind, number, wall_ns, mono_ns, data, offset, base + at))
        except ValueError:
            return "no header"
        finally:
            self._at = at
        return None

    def _fill(self) -> bool:
        """Add bytes to the buffer, continuing with the next segment at the end of one; False if there are none."""
        if self._segment is None and not self._open():
            return False
        assert self._segment is not None
        end = self._base + len(self._buffer)
        rest = self._buffer[self._at :]
        size = max(_READ_BYTES, len(rest))  # doubling, so that a long record is not copied again and again
        if self._following is not None:
            size = min(size, self._following - end)
        chunk = b""
        if size > 0 and self._may_wait:
            chunk = self._segment.read(end, size)
        elif size > 0:
            try:
                chunk, size = self._segment.read_cached(end, size)
            except BlockingIOError:
                raise _WouldWait from None
        self._reached_end = len(chunk) < size
        if chunk:
            self._base, self._buffer, self._at = end - len(rest), rest + chunk, 0
            return True
        if rest:
            return False
        if self._following is None and end > self._segment.start:
            self._wait_for_files()
            if Segment.exists(self._directory, end):
                self._following = end
                return True  # everything written before the next segment began is there now; read again
        if self._following == end:
            self._move_to(end)
            return self._open()
        return False

    def _open(self) -> bool:
        """Open the segment that holds the current offset."""
        self._wait_for_files()
        at = self._base
        starts = segment_starts(self._directory)
        before = [start for start in starts if start <= at]
        if not before:
            self._following = starts[0] if starts else None
            return False
        self._following = next((start for start in starts if start > at), None)
        try:
            self._segment = Segment(self._directory, before[-1])
        except FileNotFoundError:
            return False  # removed since the check
        return True

    def _move_to(self, offset: int) -> None:
        self.close()
        self._base, self._buffer, self._at, self._following = offset, b"", 0, None

    def _step_over(self, reason: str, records: list[Record]) -> bool:
        """Skip bytes that will never be a record, and report them; False if they still may become one."""
        here, end = self._base + self._at, self._base + len(self._buffer)
        if here < end:
            at = self._next_valid()
            if at is not None:
                self._lose(records, here, self._base + at, reason)
                self._at = at
                return True
        if self._following is None and (here < end or self._finished):
            self._wait_for_files()
            self._following = next((start for start in segment_starts(self._directory) if start > here), None)
            if self._following is not None:
                return True  # it may have been finished meanwhile: read again
        if self._following is not None and self._following > here:
            self._lose(records, here, self._following, reason)
            self._move_to(self._following)
            return True
        if not self._finished:
            return False
        if here < end:
            self._lose(records, here, end, reason)
            self._at = len(self._buffer)
            return True
        for line in self._lines.values():
            text = f"a line was cut off after {line.length} bytes"
            records.append(Record(RecordKind.DAMAGED, 0, *self._last_times(), text.encode(), line.offset, end))
        lost_lines = bool(self._lines)
        self._lines.clear()
        return lost_lines

    def _skip_damage(self, reason: str, records: list[Record]) -> bool:
        """Skip buffered bytes that are no record, up to the next one or the header of one that is not all there yet."""
        at = self._next_valid()
        if at is None:
            starts = (found.start() for found in self._headers())
            at = next(starts, len(self._buffer) - _HEADER_BYTES)
        if at <= self._at:
            return False
        self._lose(records, self._base + self._at, self._base + at, reason)
        self._at = at
        return True

    def _lose(self, records: list[Record], start: int, end: int, reason: str) -> None:
        text = f"{end - start} bytes of the journal cannot be read: {reason or 'the record is not whole'}"
        records.append(Record(RecordKind.DAMAGED, 0, *self._last_times(), text.encode(), start, end))
        for line in self._lines.values():
            line.broken = True

    def _last_times(self) -> tuple[int, int]:
        """Return the times of the last record; before the first record, the time of the journal's last write."""
        if self._times[0] or self._segment is None:
            return self._times
        return self._segment.changed_ns, 0

    def _headers(self) -> Iterator[re.Match[bytes]]:
        """Yield possible headers in the buffer, after the invalid bytes."""
        for end in _HEADER_END.finditer(self._buffer, self._at + 1):
            begin = max(self._at + 1, end.end() - _HEADER_BYTES)
            if found := _HEADER.search(self._buffer, begin, end.end()):
                yield found

    def _next_valid(self) -> int | None:
        """Return where in the buffer the next complete record begins, after the invalid bytes."""
        for found in self._headers():
            prefix, length, checksum = found.group()[:-1].rsplit(b" ", 2)
            end = found.end() + int(length)
            whole = end < len(self._buffer) and self._buffer[end] == 0x0A
            if whole and crc32(self._buffer[found.end() : end], crc32(prefix)) == int(checksum, 16):
                return found.start()
        return None

    def _join(
        self,
        records: list[Record],
        kind: RecordKind,
        part: bool,
        first: int,
        wall_ns: int,
        mono_ns: int,
        data: bytes,
        offset: int,
        end: int,
    ) -> None:
        """Take one piece of a long line; the last one makes it a record."""
        if self._began_before(kind, first, offset):
            line = self._look_back(kind, first, offset)
        elif first == offset:
            line = _LongLine(first)
        else:
            line = self._lines[kind]
        self._lines[kind] = line
        line.add(data, self._limit_bytes)
        if part:
            return
        del self._lines[kind]
        if line.broken:
            text = f"a line of more than {line.length} bytes has lost a part"
            records.append(Record(RecordKind.DAMAGED, 0, wall_ns, mono_ns, text.encode(), first, end))
            return
        too_long = line.length > self._limit_bytes
        number = line.length if too_long else 0
        records.append(Record(kind, number, wall_ns, mono_ns, b"".join(line.kept), first, end, too_long))

    def _began_before(self, kind: RecordKind, first: int, offset: int) -> bool:
        """Return whether the line of a piece at `offset` began before this reader did."""
        line = self._lines.get(kind)
        return (line is None or line.offset != first) and first != offset

    def _look_back(self, kind: RecordKind, first: int, until: int) -> _LongLine:
        """The parts of a line that began before this reader did, with other records in between."""
        if self._looking_back:
            return _LongLine(first, broken=True)
        earlier = JournalReader(self._directory, first, line_limit_bytes=self._limit_bytes)
        earlier._looking_back = True
        looked_at = first
        while looked_at < until:
            earlier.read(min(_READ_BYTES, until - looked_at))
            if earlier._base + earlier._at == looked_at:
                break
            looked_at = earlier._base + earlier._at
        earlier.close()
        line = earlier._lines.get(kind)
        return line if line is not None and line.offset == first else _LongLine(first, broken=True)
