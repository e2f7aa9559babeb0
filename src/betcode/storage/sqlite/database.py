"""Open connections to the database file, set their options, and translate their errors."""

import errno
import os
from pathlib import Path
from typing import Literal

import apsw

from betcode.domain.errors import BetcodeError, DatabaseUnusable, StorageDegraded, StorageFailed

Durability = Literal["normal", "full"]

_OPENING_TIMEOUT_MS = 5_000
WRITER_TIMEOUT_MS = 250  # another program's lock is soon reported to the callers; they retry
_READER_TIMEOUT_MS = 1_000
_CHECKPOINT_TIMEOUT_MS = 100  # the writer waits meanwhile
_WAL_KEPT_BYTES = 16 * 1024 * 1024

# The text that users see for each temporary error. A commit that fails with one of them is retried.
_PASSING: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "its disk is full"),
    (apsw.BusyError, "another program holds its lock"),
    (apsw.LockedError, "another program holds its lock"),
    (apsw.ReadOnlyError, "it is read-only"),
    (apsw.PermissionsError, "its permissions do not allow it"),
    (apsw.CantOpenError, "its files cannot be opened"),
    (apsw.IOError, "its disk reports an error"),
    (apsw.NoMemError, "the system is out of memory"),
    (apsw.ProtocolError, "another program is recovering it"),
)

_PASSING_ERRNO = {
    errno.ENOSPC: "its disk is full",
    errno.EDQUOT: "its disk is full",
    errno.EROFS: "it is read-only",
    errno.EIO: "its disk reports an error",
}


def connect(path: Path, *, durability: Durability = "normal") -> apsw.Connection:
    """A connection that may write; it waits only for another program's lock.

    Raises:
        DatabaseUnusable: a setting does not hold.
    """
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        _hold(db, path, "busy_timeout", _OPENING_TIMEOUT_MS)
        _hold(db, path, "journal_mode", "wal")
        hold_durability(db, path, durability)
        _hold(db, path, "checkpoint_fullfsync", 1)
        _hold(db, path, "foreign_keys", 1)
        _hold(db, path, "trusted_schema", 0)
        # A disk error under a memory map kills the process with a signal; under read() it is an ordinary error.
        _hold(db, path, "mmap_size", 0)
        # Deleted rows are overwritten with zeros: deleted content must not stay readable in free pages.
        _hold(db, path, "secure_delete", 1)
        _hold(db, path, "temp_store", 2)
        _hold(db, path, "cache_size", -4096)
        _hold(db, path, "journal_size_limit", _WAL_KEPT_BYTES)
        _hold(db, path, "wal_autocheckpoint", 0)
    except BaseException:
        db.close()
        raise
    return db


def connect_reader(path: Path) -> apsw.Connection:
    """A connection that only reads."""
    db = connect(path)
    _hold(db, path, "query_only", 1)
    _hold(db, path, "cache_size", -2048)
    hold_timeout(db, path, _READER_TIMEOUT_MS)
    return db


def connect_to_look(path: Path, *, timeout_ms: int = _OPENING_TIMEOUT_MS) -> apsw.Connection:
    """A connection that changes nothing, not even the journal mode; for programs other than the daemon.

    Raises:
        DatabaseUnusable: there is no such file, or it cannot be opened.
    """
    if not path.is_file():
        raise DatabaseUnusable(f"There is no database at {path}")
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        raise unusable(path, error) from error
    db.set_busy_timeout(timeout_ms)
    return db


def connect_checkpoints(path: Path) -> apsw.Connection:
    """A connection that only copies the write-ahead log into the database."""
    db = connect(path)
    _hold(db, path, "cache_size", -256)
    hold_timeout(db, path, _CHECKPOINT_TIMEOUT_MS)
    return db


def hold_durability(db: apsw.Connection, path: Path, durability: Durability) -> None:
    """Full: a commit is on the disk itself. Normal: it is with the kernel, which all but a power cut leaves alone."""
    _hold(db, path, "synchronous", 2 if durability == "full" else 1)
    _hold(db, path, "fullfsync", 1 if durability == "full" else 0)


def hold_timeout(db: apsw.Connection, path: Path, timeout_ms: int) -> None:
    """How long another program's lock is waited for."""
    _hold(db, path, "busy_timeout", timeout_ms)


def _hold(db: apsw.Connection, path: Path, name: str, wanted: str | int) -> None:
    """Set one pragma, and see that it is so."""
    db.pragma(name, wanted)
    got = db.pragma(name)
    if got != wanted:
        raise DatabaseUnusable(
            f"{path} cannot be used safely: {name} is {got!r} instead of {wanted!r} "
            "(a network file system? choose a state directory on a local disk)"
        )


def make_private(path: Path) -> None:
    """Make sure that the file exists and is private; SQLite gives its other files the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Before any connection: closing a descriptor of the file lets go of the locks that this process has on it.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)


def passing_trouble(error: BaseException) -> str:
    """Why nothing can be written at the moment; empty if it is something else."""
    return next((reason for kind, reason in _PASSING if isinstance(error, kind)), "")


def opening_trouble(error: BaseException) -> str:
    """Why the database cannot be opened for writing at the moment; empty if that does not pass by itself."""
    if isinstance(error, OSError):
        return _PASSING_ERRNO.get(error.errno or 0, "")
    return passing_trouble(error)


def storage_error(error: BaseException, doing: str = "written") -> BetcodeError:
    """The error as the rest of the program knows it."""
    if isinstance(error, StorageFailed | StorageDegraded):
        return error
    if reason := passing_trouble(error):
        return degraded(reason, doing)
    return StorageFailed(f"{type(error).__name__}: {error}")


def degraded(reason: str, doing: str = "written") -> StorageDegraded:
    return StorageDegraded(
        f"The database cannot be {doing}: {reason}. It recovers by itself once that is resolved", reason=reason
    )


def unusable(path: Path, error: apsw.Error | OSError) -> DatabaseUnusable:
    """What to say when the database cannot be opened."""
    if isinstance(error, apsw.NotADBError):
        return DatabaseUnusable(f"{path} is not an SQLite database: move it away, or choose another state directory")
    if isinstance(error, apsw.CorruptError):
        return DatabaseUnusable(
            f"{path} is damaged ({error}): keep a copy, restore a backup or try `sqlite3 {path} .recover`"
        )
    reason = passing_trouble(error) or str(error)
    return DatabaseUnusable(f"{path} cannot be opened: {reason}")
