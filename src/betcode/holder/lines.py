"""Split the agent's output into records: one per line, long lines in parts, so that memory is bounded."""

import time

from betcode.holder.journal import PART_BYTES, PART_SUFFIX, Journal, encode, encode_lines


class LineRecorder:
    """Writes every line of one stream to the journal, all lines of a chunk by one write."""

    def __init__(self, journal: Journal, kind: bytes) -> None:
        self._journal = journal
        self._kind = kind
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self._first_part = 0  # offset of the first part of the line being written, 0 when there is none

    def feed(self, chunk: bytes) -> None:
        """Take what one read gave."""
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines:
            wall_ns, mono_ns = time.time_ns(), time.monotonic_ns()
            if self._first_part or self._rest_bytes + len(lines[0]) > PART_BYTES:
                self._hold(lines.pop(0))
                self._end_long_line()
            elif self._rest:
                self._rest.append(lines[0])
                lines[0] = self._take_rest()
            if lines:
                self._journal.append(encode_lines(self._kind, wall_ns, mono_ns, lines))
        if rest:
            self._hold(rest)

    def finish(self) -> None:
        """Record a last line that has no newline."""
        if self._first_part:
            self._end_long_line()
        elif self._rest:
            self._journal.record(self._kind, self._take_rest())

    def _hold(self, piece: bytes) -> None:
        self._rest.append(piece)
        self._rest_bytes += len(piece)
        if self._rest_bytes >= PART_BYTES:
            data = self._take_rest()
            for start in range(0, len(data), PART_BYTES):
                self._first_part = self._first_part or self._journal.next_offset
                self._write(self._kind + PART_SUFFIX, data[start : start + PART_BYTES])

    def _end_long_line(self) -> None:
        self._write(self._kind, self._take_rest())
        self._first_part = 0

    def _write(self, kind: bytes, data: bytes) -> None:
        self._journal.append(encode(kind, time.time_ns(), time.monotonic_ns(), data, self._first_part))

    def _take_rest(self) -> bytes:
        data = b"".join(self._rest)
        self._rest.clear()
        self._rest_bytes = 0
        return data
