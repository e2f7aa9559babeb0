"""Read the daemon's log: the newest lines of all files, and new lines across rotations."""

import errno
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

LEVELS = ("trace", "debug", "info", "warn", "error")
_RANK = {level: rank for rank, level in enumerate(LEVELS)}
_ABOVE_ALL = _RANK["error"]  # lines of others, such as a traceback of Python itself
_BLOCK = 64 * 1024
_LONGEST_LINE = 1024 * 1024  # longer ones are returned in pieces
_NAMED = frozenset({"timestamp", "level", "span", "target", "message", "session_id", "exception"})


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the log."""

    text: str  # as written there
    message: str
    level: str = ""  # empty: it is no line of ours
    timestamp: str = ""
    span: str = ""
    target: str = ""
    session_id: str = ""
    exception: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        return _RANK.get(self.level, _ABOVE_ALL)


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which lines are asked for."""

    level: str = "trace"  # and more important ones
    session: str = ""  # the beginning of an id

    def takes(self, entry: LogEntry) -> bool:
        return entry.rank >= _RANK[self.level] and entry.session_id.startswith(self.session)


def entry_of(line: bytes) -> LogEntry:
    """Return the entry of one line; any bytes are accepted."""
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    try:
        values = json.loads(text)
        own = {name: str(values.get(name, "")) for name in _NAMED}
    except (ValueError, AttributeError, RecursionError):
        return LogEntry(text, text)
    if not own["level"]:  # some other program's JSON
        return LogEntry(text, text)
    return LogEntry(text, facts={name: value for name, value in values.items() if name not in _NAMED}, **own)


class LogFiles:
    """A log and its rotated files. Reading needs no daemon and disturbs none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None  # the one that is read on
        self._rest = b""

    def newest(self, count: int, wanted: LogFilter) -> list[LogEntry]:
        """Return the last `count` matching entries, oldest first; `added` continues after them."""
        found: list[LogEntry] = []
        self.close()
        self._file = _opened(self._path)
        if self._file is not None:
            end = self._file.seek(0, os.SEEK_END)
            lines = _backwards(self._file, end)
            self._rest = next(lines, b"")  # of a line that is being written
            _take(lines, found, count, wanted)
            self._file.seek(end)
        for number in range(1, 1 + _older(self._path)):
            if len(found) >= count:
                break
            with suppress(OSError), _opened(self._numbered(number)) or BytesIO() as file:
                lines = _backwards(file, file.seek(0, os.SEEK_END))
                _take(lines, found, count, wanted)
        found.reverse()
        return found

    def added(self, wanted: LogFilter) -> Iterator[LogEntry]:
        """Return the entries added since the last call."""
        while True:
            yield from self._read_on(wanted)
            following = self._next_file()
            if following is None:
                return
            if self._file is not None:
                yield from self._read_on(wanted)  # written between the last read and the rotation
                self._file.close()
            self._file, self._rest = following, b""

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _read_on(self, wanted: LogFilter) -> Iterator[LogEntry]:
        file = self._file
        if file is None:
            return
        if file.tell() > os.fstat(file.fileno()).st_size:  # truncated, if no rotated file is kept
            file.seek(0)
            self._rest = b""
        while block := file.read(_BLOCK):
            *lines, self._rest = (self._rest + block).split(b"\n")
            if len(self._rest) > _LONGEST_LINE:
                lines.append(self._rest)
                self._rest = b""
            yield from filter(wanted.takes, map(entry_of, lines))

    def _next_file(self) -> BinaryIO | None:
        """The file after the one that is read; None while that is the newest."""
        if self._file is None:
            return _opened(self._path)
        newest = _identity(self._path)
        mine = os.fstat(self._file.fileno())
        if newest in (None, (mine.st_dev, mine.st_ino)):
            return None
        # Several rotations may have passed: continue with the file after ours, or the oldest one.
        for number in range(1, 1 + _older(self._path)):
            if _identity(self._numbered(number)) == (mine.st_dev, mine.st_ino):
                return _opened(self._numbered(number - 1))
        return _opened(self._numbered(_older(self._path)))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


def _take(lines: Iterator[bytes], found: list[LogEntry], count: int, wanted: LogFilter) -> None:
    """Newest first, as far as more are needed."""
    if len(found) >= count:
        return
    for line in lines:
        if not line:
            continue
        entry = entry_of(line)
        if wanted.takes(entry):
            found.append(entry)
            if len(found) >= count:
                return


def _backwards(file: BinaryIO, end: int) -> Iterator[bytes]:
    """Yield the lines before `end`, last first; the first one is the text after the last newline."""
    rest = b""
    while end > 0:
        begin = max(0, end - _BLOCK)
        file.seek(begin)
        block = file.read(end - begin) + rest
        end = begin
        rest, *lines = block.split(b"\n")
        yield from reversed(lines)
        if len(rest) > _LONGEST_LINE:
            yield rest
            rest = b""
    yield rest


def _older(path: Path) -> int:
    """Return how many rotated files there are without a gap."""
    number = 0
    while path.with_name(f"{path.name}.{number + 1}").exists():
        number += 1
    return number


def _opened(path: Path) -> BinaryIO | None:
    """Raises: OSError, also where it is not a regular file: a pipe would be waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino
