"""Opening the database file with everything that must hold before its first use, and closing it for good."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from betcode.domain.session_deletion import DeletedSession
from betcode.storage import epochs
from betcode.storage.database import (
    WRITER_TIMEOUT_MS,
    Durability,
    connect,
    connect_checkpoints,
    connect_reader,
    hold_timeout,
    make_private,
    unusable,
)
from betcode.storage.deleting import marked_sessions
from betcode.storage.migrations import Migration, migrate

logger = logging.getLogger(__name__)

_READERS = 2


@dataclass(frozen=True, slots=True)
class Opened:
    writer: apsw.Connection
    checkpoints: apsw.Connection
    readers: tuple[apsw.Connection, ...]
    epoch: epochs.Epoch
    half_deleted: tuple[DeletedSession, ...]


def open_files(path: Path, durability: Durability, boot_id: str, migrations: Sequence[Migration]) -> Opened:
    """Every connection, on a database of the newest schema.

    Raises:
        DatabaseUnusable: it cannot be used; the message says why and what to do.
    """
    connections: list[apsw.Connection] = []
    try:
        make_private(path)
        db = connect(path)
        connections.append(db)
        migrate(db, path, migrations)
        epoch = epochs.begin(db, path, durability=durability, boot_id=boot_id)
        hold_timeout(db, path, WRITER_TIMEOUT_MS)
        connections += [connect_reader(path) for _ in range(_READERS)]
        connections.append(connect_checkpoints(path))
        return Opened(db, connections[-1], tuple(connections[1:-1]), epoch, tuple(marked_sessions(db)))
    except BaseException as error:
        for connection in connections:
            connection.close()
        if isinstance(error, apsw.Error | OSError):
            raise unusable(path, error) from error
        raise


def close_files(path: Path, opened: Opened, *, clean: bool) -> None:
    """Close every connection; if everything went well, the next opening finds it said so."""
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
