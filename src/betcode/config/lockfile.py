"""One daemon per state directory: a kernel lock that ends with its process, and a record of its owner."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from betcode.util.state_files import UnusableEntry, open_file, read_file

_PATIENCE_S = (
    0.3  # a process that only checks takes the lock for an instant and must not prevent a daemon from starting
)
_PAUSE_S = 0.01
_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The daemon that holds a lock, as recorded by itself."""

    pid: int
    started: str  # ISO 8601, UTC
    socket: str
    version: str


class LockHeld(Exception):
    """Another process holds the lock; `holder` is None if it has not recorded itself yet."""

    def __init__(self, path: Path, holder: LockOwner | None) -> None:
        super().__init__(str(path))
        self.path = path
        self.holder = holder


@contextmanager
def hold_lock(path: Path, holder: LockOwner) -> Iterator[None]:
    """Hold `path` while the block runs; the kernel releases it if this process dies.

    Raises:
        LockHeld: another process has it.
        OSError: the entry cannot be used as a lock.
    """
    descriptor = open_file(path, os.O_RDWR | os.O_CREAT)
    try:
        if not _locked_within(descriptor, _PATIENCE_S):
            raise LockHeld(path, _read(path))
        _write_holder(descriptor, holder)
        yield
    finally:
        # The file remains: removing it would let two daemons lock two files of one name.
        os.close(descriptor)


def _write_holder(descriptor: int, holder: LockOwner) -> None:
    """Overwrite in place: on a full disk, the previous record's space is free. Without any, the lock still holds."""
    text = json.dumps(asdict(holder)).encode() + b"\n"
    try:
        os.pwrite(descriptor, text, 0)
        os.ftruncate(descriptor, len(text))
    except OSError:
        os.ftruncate(descriptor, 0)


def is_held(path: Path) -> bool:
    """Return whether some process holds the lock at this moment.

    Raises:
        OSError: the entry cannot be used as a lock.
    """
    try:
        descriptor = open_file(path)
    except FileNotFoundError:
        return False
    except UnusableEntry as error:
        if isinstance(error.__cause__, NotADirectoryError):
            return False  # there is no state directory
        raise
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def read_holder(path: Path) -> LockOwner | None:
    """Return who holds the lock now; None if nobody does, or the holder has not recorded itself yet."""
    return _read(path) if is_held(path) else None


def _locked_within(descriptor: int, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_S)
        else:
            return True


def _read(path: Path) -> LockOwner | None:
    try:
        values = json.loads(read_file(path, _LIMIT_BYTES))
        return LockOwner(
            pid=int(values["pid"]),
            started=str(values["started"]),
            socket=str(values["socket"]),
            version=str(values["version"]),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
