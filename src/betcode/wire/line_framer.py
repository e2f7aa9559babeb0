"""Split bytes that arrive in any chunks into lines, with a limit on the length of one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line over the limit: its beginning, and how long it was."""

    beginning: bytes
    size_bytes: int


Line = bytes | TooLong

_BEGINNING_BYTES = 4096


class LineFramer:
    """Cuts a stream into lines without their newline; how the stream is chunked makes no difference."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []  # of the unfinished line, at most the limit in all
        self._size = 0  # of the unfinished line, stored or not

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that end in `chunk`."""
        *ended, rest = chunk.split(b"\n")
        lines: list[Line] = []
        for piece in ended:
            self._keep(piece)
            lines.append(self._take())
        self._keep(rest)
        return lines

    def finish(self) -> list[Line]:
        """The last line, where the stream ended without a newline."""
        return [self._take()] if self._size else []

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        room = self._limit - self._size
        self._size += len(piece)
        if room >= len(piece):
            self._parts.append(piece)
        elif room > 0 or not self._parts:
            # Over the limit: only the beginning is of use from here on.
            beginning = b"".join((*self._parts, piece[: max(room, 0)]))[:_BEGINNING_BYTES]
            self._parts = [beginning]
        else:
            self._parts = [b"".join(self._parts)[:_BEGINNING_BYTES]]

    def _take(self) -> Line:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        size = self._size
        self._parts, self._size = [], 0
        return data if size <= self._limit else TooLong(data, size)
