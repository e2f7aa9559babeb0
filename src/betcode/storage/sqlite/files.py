"""Open the database file with all checks that its first use needs, and close it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import apsw

from betcode.domain.errors import DatabaseUnusable
from betcode.domain.sessions.deletion import DeletedSession
from betcode.storage.migrations import Migration, migrate
from betcode.storage.sessions.session_deletion import marked_sessions
from betcode.storage.sqlite import epochs, reserve
from betcode.storage.sqlite.database import (
    WRITER_TIMEOUT_MS,
    Durability,
    connect,
    connect_checkpoints,
    connect_reader,
    hold_timeout,
    make_private,
    opening_trouble,
    unusable,
)

logger = logging.getLogger(__name__)

_READERS = 2


@dataclass(frozen=True, slots=True)
class OpenedDatabase:
    writer: apsw.Connection
    checkpoints: apsw.Connection
    readers: tuple[apsw.Connection, ...]
    epoch: epochs.Epoch
    unwritable: str  # why nothing can be written yet; `begin` is to be tried again. Empty: the epoch has begun
    begin: Callable[[apsw.Connection], epochs.Epoch]
    half_deleted: tuple[DeletedSession, ...]


def open_files(path: Path, durability: Durability, boot_id: str, migrations: Sequence[Migration]) -> OpenedDatabase:
    """Every connection, on a database of the newest schema; one that cannot be written now can be read.

    Raises:
        DatabaseUnusable: it cannot be used; the message says why and what to do.
    """
    try:
        make_private(path)
    except OSError as error:
        raise unusable(path, error) from error
    try:
        opened = _open_connections(path, durability, boot_id, migrations)
    except DatabaseUnusable:
        if not reserve.give_back(path):
            raise
        # SQLite creates its index of the write-ahead log before anything can be read, and on a full disk it cannot.
        opened = _open_connections(path, durability, boot_id, migrations)
    if not opened.unwritable:
        reserve.make(path)
    return opened


def _open_connections(
    path: Path, durability: Durability, boot_id: str, migrations: Sequence[Migration]
) -> OpenedDatabase:
    connections: list[apsw.Connection] = []
    try:
        db = connect(path)
        connections.append(db)
        _migrate(db, path, migrations)
        begin = partial(epochs.begin, path=path, durability=durability, boot_id=boot_id)
        epoch, unwritable = _begin(db, begin)
        hold_timeout(db, path, WRITER_TIMEOUT_MS)
        connections += [connect_reader(path) for _ in range(_READERS)]
        connections.append(connect_checkpoints(path))
        readers = tuple(connections[1:-1])
        return OpenedDatabase(db, connections[-1], readers, epoch, unwritable, begin, tuple(marked_sessions(db)))
    except BaseException as error:
        for connection in connections:
            connection.close()
        if isinstance(error, apsw.Error | OSError):
            raise unusable(path, error) from error
        raise


def _migrate(db: apsw.Connection, path: Path, migrations: Sequence[Migration]) -> None:
    try:
        migrate(db, path, migrations)
    except (apsw.Error, OSError) as error:
        reason = opening_trouble(error)
        if not reason:
            raise
        raise DatabaseUnusable(
            f"{path} cannot be opened: {reason}, and its schema must be written first. Nothing can be read until then"
        ) from error


def _begin(db: apsw.Connection, begin: Callable[[apsw.Connection], epochs.Epoch]) -> tuple[epochs.Epoch, str]:
    """The epoch, and why it could not begin yet."""
    try:
        return begin(db), ""
    except (apsw.Error, OSError) as error:
        reason = opening_trouble(error)
        if not reason:
            raise
        logger.warning("the database is opened read-only: %s", reason)
        return epochs.stored(db), reason


def close_files(path: Path, opened: OpenedDatabase, *, clean: bool) -> None:
    """Close every connection; after a clean shutdown, leave a mark for the next opening."""
    for connection in (*opened.readers, opened.checkpoints):
        connection.close()
    try:
        if clean:
            epochs.end(opened.writer, path)
    except (apsw.Error, OSError) as error:
        # Nothing is lost by it: the next opening reads the write-ahead log.
        logger.warning("the database could not be closed cleanly: %s", error)
    finally:
        opened.writer.close()
