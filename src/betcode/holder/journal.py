"""The format of the journal, and its writer, which never loses a byte.

A record is one ASCII header line, `kind wall_ns mono_ns number length crc32\\n`, the raw bytes, and a newline, so that
it can be read with `less`. The checksum covers the first four header fields and the bytes. A line over PART_BYTES
is written as parts (`out.part` ... `out`); each piece carries in `number` the offset of the line's first part, so that
a reader who begins anywhere can find the rest, also when other records came in between.
Segments are named by their first logical offset; a record never spans two of them.
"""

# pathlib and contextlib would make the holder slower to start and larger.
# ruff: noqa: PTH118, SIM105

import os
import time
from zlib import crc32

SEGMENT_BYTES = 16 * 1024 * 1024
PART_BYTES = 1024 * 1024
PART_SUFFIX = b".part"
SEGMENT_PREFIX = "journal-"


def segment_name(offset: int) -> str:
    """The file name of the segment that begins at this logical offset."""
    return f"{SEGMENT_PREFIX}{offset:020d}"


def encode(kind: bytes, wall_ns: int, mono_ns: int, data: bytes, number: int = 0) -> bytes:
    """One whole record."""
    prefix = b"%b %d %d %d" % (kind, wall_ns, mono_ns, number)
    return b"%b %d %08x\n%b\n" % (prefix, len(data), crc32(data, crc32(prefix)), data)


def encode_lines(kind: bytes, wall_ns: int, mono_ns: int, lines: list[bytes]) -> bytes:
    """A record for every line, all with the same time."""
    prefix = b"%b %d %d 0" % (kind, wall_ns, mono_ns)
    seed = crc32(prefix)
    return b"".join([b"%b %d %08x\n%b\n" % (prefix, len(line), crc32(line, seed), line) for line in lines])


class Journal:
    """Appends records to segments; what the disk does not accept now is stored and retried, in order."""

    def __init__(self, directory: str, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._pending = b""
        self._length = 0  # logical end, including pending records
        self._segment_start = 0
        self.end = 0  # logical end of the whole records on disk
        self.blocked: str | None = None  # why the disk accepts nothing, while it does not
        self._file = self._create(0)

    def _create(self, offset: int) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.open(os.path.join(self._directory, segment_name(offset)), flags, 0o600)

    def has_room(self) -> bool:
        """Return whether everything is on disk."""
        return self.blocked is None

    @property
    def next_offset(self) -> int:
        """Return where the next record will begin."""
        return self._length

    def append(self, records: bytes) -> bool:
        """Add complete records; True when they are on disk, False when they wait for space."""
        self._length += len(records)
        if self._pending:
            self._pending += records
            return False
        if self.end - self._segment_start >= self._segment_bytes:
            self._pending = records
            return self.retry()
        return self._write(records)

    def record(self, kind: bytes, data: bytes, number: int = 0) -> bool:
        """Add one record with the time of now."""
        return self.append(encode(kind, time.time_ns(), time.monotonic_ns(), data, number))

    def retry(self) -> bool:
        """Retry to write pending records; True when none is pending."""
        if not self._pending:
            return True
        # `end` is a record boundary, so this is false while a record is half in the old segment.
        if self.end - self._segment_start >= self._segment_bytes and self._length - len(self._pending) == self.end:
            try:
                fresh = self._create(self.end)
            except OSError as error:
                self.blocked = error.strerror or str(error)
                return False
            os.close(self._file)
            self._file, self._segment_start = fresh, self.end
        waiting, self._pending = self._pending, b""
        return self._write(waiting)

    def _write(self, data: bytes) -> bool:
        view = memoryview(data)
        done = 0
        try:
            while done < len(data):
                done += os.write(self._file, view[done:])
        except OSError as error:  # a full disk, a quota, a limit, a bad medium: the agent waits in each case
            self.blocked = error.strerror or str(error)
            self._pending = data[done:]
            return False
        self.blocked = None
        self.end = self._length
        return True

    def sync(self) -> None:
        """Flush to the disk; a disk that cannot is no reason to stop."""
        try:
            os.fsync(self._file)
        except OSError:
            pass

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)
