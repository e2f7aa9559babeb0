"""Small files that only their owner may read: written atomically, read up to a limit."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from betcode.util.atomic_files import replace_file


def private_directory(path: Path) -> Path:
    """Create the directory and its parents, readable only by the owner, and return it.

    Raises:
        OSError: the directory cannot be created.
    """
    if not path.is_dir():
        if path.parent != path:
            private_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def write_private(path: Path, data: bytes) -> None:
    """Replace the content of a file, and create its directory if needed.

    The new content survives the end of this process, but not always a power cut.

    Raises:
        OSError: the file cannot be written.
    """
    private_directory(path.parent)
    replace_file(path, data, durable=False)


def read_bounded(path: Path, limit_bytes: int) -> bytes | None:
    """Return the content of a regular file; None if it is missing, unreadable or too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        try:
            data = file.read(limit_bytes + 1)
        except OSError:
            return None
    return None if len(data) > limit_bytes else data


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file; keep the block short.

    Raises:
        OSError: the file cannot be locked.
    """
    private_directory(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
