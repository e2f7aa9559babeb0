"""Check the integrity of the database: SQLite's own check, and the invariants of our tables."""

from collections.abc import Iterator
from pathlib import Path

import apsw

from betcode.domain.errors import DatabaseUnusable
from betcode.storage.migrations import MIGRATIONS, applied_to
from betcode.storage.sqlite.database import connect_to_look, unusable

_MOST = 100  # a damaged database has thousands, which say no more

# Numbers of events are given once, and the row of the session knows the last.
_BEYOND_THE_END = """
SELECT session_id FROM sessions s
WHERE deleted = 0
    AND EXISTS (SELECT 1 FROM events WHERE place > (s.key << 40 | s.last_seq) AND place < (s.key + 1 << 40))
LIMIT ?
"""


def problems(path: Path, *, full: bool) -> Iterator[str]:
    """The problems of the database as sentences, none if it is intact; `full` compares the indices too.

    Raises:
        DatabaseUnusable: it cannot be read at all, or is none of ours.
    """
    try:
        db = connect_to_look(path)
        try:
            schema = applied_to(db, path)
            if not schema:
                raise DatabaseUnusable(f"{path} is empty")
            if schema > len(MIGRATIONS):
                raise DatabaseUnusable(f"{path} was written by a newer betcode: check it with that one")
            yield from _found(db, full=full, is_newest=schema == len(MIGRATIONS))
        finally:
            db.close()
    except apsw.CorruptError as error:
        yield f"it could not be read to the end: {error}"
    except (apsw.Error, OSError) as error:
        raise unusable(path, error) from error


def _found(db: apsw.Connection, *, full: bool, is_newest: bool) -> Iterator[str]:
    pragma = "integrity_check" if full else "quick_check"
    for (line,) in db.execute(f"PRAGMA {pragma}({_MOST})"):
        if line != "ok":
            yield str(line)
    for number, (table, row, parent, _) in enumerate(db.execute("PRAGMA foreign_key_check")):
        if number < _MOST:
            yield f"row {row} of {table} belongs to no row of {parent}"
    if is_newest:
        for (session_id,) in db.execute(_BEYOND_THE_END, (_MOST,)):
            yield f"session {session_id} has events beyond its end"
