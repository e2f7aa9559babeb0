"""A small file that other programs change: its text, read again when the file was replaced or edited."""

import os
from pathlib import Path

from betcode.config.plain_file import read_plain
from betcode.util.wall_clock import now_ns

# Times of files are a few milliseconds coarse: what changed just now may change again and look the same.
_SETTLED_NS = 100_000_000

_NOT_THERE = (0, 0, 0, 0)


class WatchedFile:
    """Looking is one call of the system; only `read` may take long, and is to be done in a thread."""

    def __init__(self, path: Path, *, limit_bytes: int = 1024 * 1024) -> None:
        self.path = path
        self.is_there = False
        self.text: str | None = None  # None: it is not there, or cannot be read
        self._name = str(path)
        self._limit_bytes = limit_bytes
        self._seen: tuple[int, int, int, int] | None = None  # None: never looked at

    @property
    def has_changed(self) -> bool:
        """Whether `read` would find something else; it may err to yes."""
        return self._seen is None or self._look() != self._seen

    def read(self) -> None:
        """Take in what the file says now; never raises."""
        seen = self._look()
        self.is_there = seen != _NOT_THERE
        self.text = self._text() if self.is_there else None
        self._seen = seen if now_ns() - seen[0] > _SETTLED_NS else None

    def _look(self) -> tuple[int, int, int, int]:
        try:
            found = os.stat(self._name)  # noqa: PTH116 - at every decision, and twice as quick
        except (FileNotFoundError, NotADirectoryError):
            return _NOT_THERE
        except (OSError, ValueError):
            return (1, 0, 0, 0)  # there, and not to be looked at
        return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns)

    def _text(self) -> str | None:
        # A project can bring anything under the name of its settings: a pipe or a device must not hold us up.
        try:
            data = read_plain(self.path, self._limit_bytes + 1)
            return data.decode() if len(data) <= self._limit_bytes else None
        except (OSError, ValueError):
            return None
