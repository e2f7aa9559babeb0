"""Disk usage: the files of the state directory, and the sessions in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from betcode.storage.sqlite.database import connect_to_look, unusable

# Events' bytes stand in their rows' headers, so they are counted without being read.
_SESSIONS = """
SELECT s.session_id, s.name, s.status, s.updated_ns, coalesce(e.bytes, 0) + coalesce(b.bytes, 0) AS bytes,
    coalesce(e.events, 0)
FROM sessions s
LEFT JOIN (
    SELECT place >> 40 AS session, sum(length(data)) AS bytes, count(*) AS events FROM events GROUP BY 1
) e ON e.session = s.key
LEFT JOIN (SELECT session, sum(size) AS bytes FROM blobs GROUP BY 1) b ON b.session = s.key
WHERE s.deleted = 0 ORDER BY bytes DESC LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class SessionUse:
    session_id: str
    name: str
    status: str
    updated_ns: int
    size: int
    events: int


@dataclass(frozen=True, slots=True)
class DatabaseUse:
    used: int  # bytes with something in them
    free: int  # bytes in the file that the next events will fill
    sessions: Sequence[SessionUse]  # the largest


def database_use(path: Path, most: int) -> DatabaseUse:
    """Raises DatabaseUnusable if it cannot be read."""
    try:
        db = connect_to_look(path)
        try:
            used, free = used_and_free(db)
            return DatabaseUse(used, free, [SessionUse(*row) for row in db.execute(_SESSIONS, (most,))])
        finally:
            db.close()
    except (apsw.Error, OSError) as error:
        raise unusable(path, error) from error


def used_bytes(db: apsw.Connection) -> int:
    return used_and_free(db)[0]


def used_and_free(db: apsw.Connection) -> tuple[int, int]:
    """Bytes of the file that hold something, and those that hold nothing any more."""
    size, pages, free = (int(str(db.pragma(name))) for name in ("page_size", "page_count", "freelist_count"))
    return (pages - free) * size, free * size
