"""The segment files of a journal as one byte range; finished segments may be compressed."""

import errno
import gzip
import os
import zlib
from itertools import zip_longest
from pathlib import Path

from betcode.holder.journal import SEGMENT_PREFIX, segment_name
from betcode.util.atomic_files import replacing
from betcode.util.state_files import UnusableEntry, mode_of, names_in, open_file, shown

SEGMENT_LIMIT_BYTES = 256 * 1024 * 1024  # a holder begins another long before, however large a record is
_DIGITS = 20
_SUFFIX = ".gz"
_CHUNK_BYTES = 64 * 1024  # a larger buffer would stay allocated for an operation that is rare

_NO_WAIT: int = getattr(os, "RWF_NOWAIT", 0)
# Shared: allocating so much for each delta takes ten times as long as reading it.
_cached = bytearray(256 * 1024)


def segment_starts(directory: Path) -> list[int]:
    """The logical offsets at which the segments that are there begin, in order.

    Raises: UnusableEntry when the directory cannot be read; OSError for a shortage.
    """
    plain = (
        name.removesuffix(_SUFFIX).removeprefix(SEGMENT_PREFIX)
        for name in names_in(directory)
        if name.startswith(SEGMENT_PREFIX)
    )
    return sorted({int(digits) for digits in plain if digits.isascii() and digits.isdigit() and len(digits) == _DIGITS})


class Segment:
    """One segment, open for reading; a compressed one is read as if it were not."""

    def __init__(self, directory: Path, start: int) -> None:
        """Raises: FileNotFoundError if there is no such segment, UnusableEntry if it is no journal segment."""
        self.start = start
        self._body: bytes | None = None
        self._file = -1
        self._reads_cached = bool(_NO_WAIT)
        path = directory / segment_name(start)
        try:
            self._file = _opened(path)
        except FileNotFoundError:
            self._body = _decompressed(path.with_name(path.name + _SUFFIX))

    @staticmethod
    def exists(directory: Path, start: int) -> bool:
        """Return whether a segment begins exactly there."""
        name = segment_name(start)
        return bool(mode_of(directory / name) or mode_of(directory / (name + _SUFFIX)))

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from a logical offset on, fewer where the segment ends.

        Raises: UnusableEntry when the disk reports an error.
        """
        if self._body is not None:
            return self._body[offset - self.start : offset - self.start + size]
        try:
            return os.pread(self._file, size, offset - self.start)
        except OSError as error:
            raise UnusableEntry(f"`{segment_name(self.start)}` cannot be read: {error.strerror}") from error

    def read_cached(self, offset: int, size: int) -> tuple[bytes, int]:
        """Like `read`, without waiting for the disk; also returns the requested size, which may be smaller.

        Only for one thread of the process, such as the event loop's. A file system without such reads (in memory, on
        macOS) is read as usual.

        Raises: BlockingIOError when the bytes are not in memory, UnusableEntry when the disk reports an error.
        """
        size = min(size, len(_cached))
        if self._body is not None or not self._reads_cached:
            return self.read(offset, size), size
        try:
            length = os.preadv(self._file, [memoryview(_cached)[:size]], offset - self.start, _NO_WAIT)
        except BlockingIOError:
            raise
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise UnusableEntry(f"`{segment_name(self.start)}` cannot be read: {error.strerror}") from error
            self._reads_cached = False
            return self.read(offset, size), size
        return bytes(memoryview(_cached)[:length]), size

    @property
    def changed_ns(self) -> int:
        """Return when it was last written; 0 if unknown."""
        return os.fstat(self._file).st_mtime_ns if self._file >= 0 else 0

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _opened(path: Path) -> int:
    """Raises: FileNotFoundError, UnusableEntry."""
    file = open_file(path)
    if os.fstat(file).st_size > SEGMENT_LIMIT_BYTES:
        os.close(file)
        raise UnusableEntry(f"`{path.name}` is longer than {SEGMENT_LIMIT_BYTES} bytes")
    return file


def _decompressed(path: Path) -> bytes:
    """Return the content of a compressed segment, as far as it can be read.

    Raises: FileNotFoundError, UnusableEntry when it is no file or holds more than any segment does.
    """
    pieces = []
    length = 0
    with os.fdopen(_opened(path), "rb") as file, gzip.GzipFile(fileobj=file) as packed:
        try:
            while piece := packed.read(_CHUNK_BYTES):
                pieces.append(piece)
                length += len(piece)
                if length > SEGMENT_LIMIT_BYTES:
                    break
        except (OSError, EOFError, zlib.error):
            pass  # the reader detects and reports the missing bytes
    if length > SEGMENT_LIMIT_BYTES:
        raise UnusableEntry(f"`{path.name}` holds more than {SEGMENT_LIMIT_BYTES} bytes")
    return b"".join(pieces)


def compress_behind(directory: Path, offset: int, *, finished: bool = False) -> int:
    """Compress the segments that end before `offset`, each in one step; return their number.

    The last segment may still grow, so it is skipped unless the journal is `finished`.

    Raises: OSError, as on a full disk; a segment that could not be compressed is unchanged. UnusableEntry.
    """
    starts = segment_starts(directory)
    count = 0
    for start, following in zip_longest(starts, starts[1:]):
        path = directory / segment_name(start)
        if not mode_of(path):
            continue  # compressed before
        end = start + path.lstat().st_size if following is None else following
        if end <= offset and (following is not None or finished):
            _compress(path)
            count += 1
    return count


def _compress(path: Path) -> None:
    packed = path.with_name(path.name + _SUFFIX)
    try:
        with (
            os.fdopen(_opened(path), "rb") as plain,
            replacing(packed) as raw,
            gzip.GzipFile(filename="", mode="wb", compresslevel=5, fileobj=raw, mtime=0) as out,
        ):
            while piece := plain.read(_CHUNK_BYTES):
                out.write(piece)
    except PermissionError as error:
        raise UnusableEntry(f"`{shown(path.parent)}` cannot be written: {error.strerror}") from error
    path.unlink()
