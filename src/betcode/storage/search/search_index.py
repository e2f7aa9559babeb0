"""The full-text index: a separate file, built from the log alone, so that it can be rebuilt.

It is no part of the log's file: SQLite has one writer per file, and no commit of the log waits for this one.
"""

import logging
from collections.abc import Iterable
from pathlib import Path

import apsw
from google.protobuf.message import DecodeError

from betcode.domain.events.search_documents import SEARCHED_KINDS, document_of
from betcode.storage.sessions.event_rowid import first_place, last_place, place_of, seq_of
from betcode.storage.sqlite.database import WRITER_TIMEOUT_MS, connect, connect_reader, hold_timeout, make_private
from betcode.v1.agent_pb2 import AgentEvent

logger = logging.getLogger(__name__)

TOKENS = "unicode61 remove_diacritics 2"  # how text becomes words; a question is read the same way
_VERSION = 1  # of the indexed content; a new version rebuilds the index
_STEP_ROWS = 1_000
_STEP_BYTES = 1024 * 1024
_FORGET_ROWS = 2_000
_MERGE_PAGES = 500
_NO_MORE_BELOW = 2  # changes of a merge that found nothing to do, as SQLite documents it
_CHECKPOINT_PAGES = 1_000
_CACHE_KIB = 1024  # four times that makes it no quicker, and a daemon takes on weight for hours until it is full

# Contentless: the words and where they occur; the text itself is in the log. A document's row is its event's place.
_SCHEMA = f"""
CREATE TABLE origin (version INTEGER NOT NULL, born_ns INTEGER NOT NULL, epoch TEXT NOT NULL) STRICT;
CREATE TABLE positions (session INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
CREATE VIRTUAL TABLE documents USING fts5(text, content='', contentless_delete=1, tokenize='{TOKENS}');
"""
_ORIGIN = """
SELECT coalesce((SELECT applied_ns FROM migrations WHERE number = 1), 0),
    coalesce((SELECT value FROM meta WHERE name = 'epoch'), '')
"""
_IS_THERE = "SELECT 1 FROM sessions WHERE key = ? AND deleted = 0"
_EVENTS = f"""
SELECT place, CASE WHEN kind IN ({", ".join(map(str, SEARCHED_KINDS))}) THEN data END
FROM events WHERE place > ? AND place <= ? ORDER BY place LIMIT {_STEP_ROWS}
"""
_MOVE = "INSERT INTO positions (session, seq) VALUES (?, ?) ON CONFLICT (session) DO UPDATE SET seq = excluded.seq"
_FORGET = f"""
DELETE FROM documents WHERE rowid IN (
    SELECT rowid FROM documents WHERE rowid BETWEEN ? AND ? LIMIT {_FORGET_ROWS})
"""


def search_file(log: Path) -> Path:
    """Where the index of this log is."""
    return log.with_name("search.db")


class SearchIndex:
    """Reads the log from a position of its own in each session. Used by one thread."""

    def __init__(self, log: Path) -> None:
        """Open the index of this log; one of another log, or of another time of it, is begun again.

        Raises:
            apsw.Error, OSError: it cannot be used now.
        """
        self._log = connect_reader(log)
        try:
            self._db = _opened(search_file(log), self._origin())
        except BaseException:
            self._log.close()
            raise

    def close(self) -> None:
        self._db.close()
        self._log.close()

    def behind(self) -> list[int]:
        """The sessions that have more in the log than was read, and those that are gone from it."""
        read: dict[int, int] = dict(self._db.execute("SELECT session, seq FROM positions"))
        there: dict[int, int] = dict(self._log.execute("SELECT key, last_seq FROM sessions WHERE deleted = 0"))
        return [key for key, last in there.items() if last > read.get(key, 0)] + [k for k in read if k not in there]

    def step(self, session: int) -> bool:
        """Index some of a session's new events, with its position, in one transaction; whether there are more."""
        if self._log.execute(_IS_THERE, (session,)).fetchone() is None:
            return self._forget(session)
        after = self._db.execute("SELECT seq FROM positions WHERE session = ?", (session,)).get or 0
        last = place_of(session, after)
        documents: list[tuple[int, str]] = []
        rows = size = 0
        for place, data in self._log.execute(_EVENTS, (last, last_place(session))):
            rows += 1
            last = place
            if data is not None:
                size += len(data)
                if text := _text(data):
                    documents.append((place, text))
                if size > _STEP_BYTES:
                    break
        if not rows:
            return False
        with self._db:
            self._db.executemany("INSERT INTO documents (rowid, text) VALUES (?, ?)", documents)
            self._db.execute(_MOVE, (session, seq_of(last)))
        return rows == _STEP_ROWS or size > _STEP_BYTES

    def merge(self) -> bool:
        """One step of merging the index; only that removes the words of deleted documents. Whether there is more."""
        before = self._db.total_changes()
        with self._db:
            self._db.execute("INSERT INTO documents (documents, rank) VALUES ('merge', ?)", (-_MERGE_PAGES,))
        return self._db.total_changes() - before >= _NO_MORE_BELOW

    def rewrite(self) -> None:
        """Write the file anew and empty its write-ahead log, so that neither holds words of deleted documents."""
        self._db.execute("VACUUM")
        self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _forget(self, session: int) -> bool:
        with self._db:
            self._db.execute(_FORGET, (first_place(session), last_place(session)))
            if self._db.changes():
                return True
            self._db.execute("DELETE FROM positions WHERE session = ?", (session,))
        return False

    def _origin(self) -> tuple[int, int, str]:
        """Which log this is the index of: after a power cut or a restored backup it is another."""
        born_ns, epoch = self._log.execute(_ORIGIN).get
        return _VERSION, born_ns, epoch


def discard(path: Path) -> None:
    """Take the index away; the next one is made from the log."""
    for file in _files(path):
        file.unlink(missing_ok=True)


def _opened(path: Path, origin: tuple[int, int, str]) -> apsw.Connection:
    db = _connected(path)
    try:
        if not db.execute("SELECT count(*) FROM sqlite_schema").get:
            return _begun(db, origin)
        if db.execute("SELECT version, born_ns, epoch FROM origin").fetchall() == [origin]:
            return db
    except BaseException:
        db.close()
        raise
    logger.info("the search index belongs to another database or version and is rebuilt")
    db.close()
    discard(path)
    return _begun(_connected(path), origin)


def _connected(path: Path) -> apsw.Connection:
    if not path.exists():  # else a search may read it, and opening it otherwise would undo its locks
        make_private(path)
    db = connect(path)
    hold_timeout(db, path, WRITER_TIMEOUT_MS)
    db.pragma("synchronous", 0)  # after a power cut it is made again anyway
    db.pragma("cache_size", -_CACHE_KIB)
    db.wal_autocheckpoint(_CHECKPOINT_PAGES)
    return db


def _begun(db: apsw.Connection, origin: tuple[int, int, str]) -> apsw.Connection:
    with db:
        for _ in db.execute(_SCHEMA):
            pass
        db.execute("INSERT INTO origin (version, born_ns, epoch) VALUES (?, ?, ?)", origin)
    return db


def _files(path: Path) -> Iterable[Path]:
    return (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm"))


def _text(data: bytes) -> str:
    """The text of one event; none if its kind is not indexed or it cannot be read."""
    try:
        document = document_of(AgentEvent.FromString(data))
    except DecodeError:
        return ""
    return document.text if document else ""
