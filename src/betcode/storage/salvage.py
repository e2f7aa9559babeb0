"""What can still be read of a damaged database, in a new one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from betcode.domain.errors import DatabaseUnusable
from betcode.storage.database import connect, make_private, unusable
from betcode.storage.migrations import migrate

_ROWS = 500
_LAST = 2**63 - 1

# Parents before children. `migrations` and `meta` are made by the new database, but for the epoch.
_TABLES = (
    *("sessions", "session_makings", "events", "runs", "inputs", "input_payloads", "pending_permissions"),
    *("blobs", "blob_pieces", "permission_grants", "audit"),
)
# What belongs to nobody any more cannot be shown, and would be taken for damage again.
_ORPHANS = (
    "DELETE FROM events WHERE place >> 40 NOT IN (SELECT key FROM sessions)",
    "DELETE FROM inputs WHERE session NOT IN (SELECT key FROM sessions)",
    "DELETE FROM input_payloads WHERE input NOT IN (SELECT key FROM inputs)",
    "DELETE FROM session_makings WHERE session NOT IN (SELECT key FROM sessions)",
    "DELETE FROM runs WHERE session NOT IN (SELECT key FROM sessions)",
    "DELETE FROM pending_permissions WHERE session_id NOT IN (SELECT key FROM sessions)",
    "DELETE FROM blobs WHERE session NOT IN (SELECT key FROM sessions)",
    "DELETE FROM blob_pieces WHERE blob NOT IN (SELECT key FROM blobs)",
    "DELETE FROM permission_grants WHERE session NOT IN (SELECT key FROM sessions)",
)
# A session's number of the last event must not be behind its events.
_LAST_SEQ = """
UPDATE sessions SET last_seq = max(last_seq, coalesce(
    (SELECT max(seq) FROM events WHERE place BETWEEN (key << 40) AND ((key << 40) | 1099511627775)), 0))
"""


@dataclass(slots=True)
class Salvaged:
    """Rows by table."""

    kept: dict[str, int] = field(default_factory=dict)
    torn: dict[str, int] = field(default_factory=dict)  # places where one row or more could not be read
    orphans: int = 0


def salvage(damaged: Path, target: Path) -> Salvaged:
    """Write to the new file `target` every row of `damaged` that can still be read.

    Raises:
        DatabaseUnusable: not even its tables can be found, or the new one cannot be written.
    """
    salvaged = Salvaged()
    try:
        source = apsw.Connection(str(damaged), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            columns = _columns(source, damaged)
            make_private(target)
            db = connect(target)
            try:
                migrate(db, target)
                db.pragma("foreign_keys", 0)
                for table in _TABLES:
                    _copy_table(source, db, table, columns.get(table, []), salvaged)
                _keep_epoch(source, db)
                _tidy(db, salvaged)
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                db.close()
        finally:
            source.close()
    except (apsw.Error, OSError) as error:
        raise unusable(damaged, error) from error
    return salvaged


def _columns(source: apsw.Connection, damaged: Path) -> Mapping[str, list[str]]:
    try:
        return {
            table: [name for _, name, *_, hidden in source.execute(f"PRAGMA table_xinfo({table})") if not hidden]
            for table in _TABLES
        }
    except apsw.Error as error:
        raise DatabaseUnusable(
            f"{damaged} is damaged where it says which tables it has ({error}): restore a backup"
        ) from error


def _copy_table(
    source: apsw.Connection, db: apsw.Connection, table: str, columns: list[str], salvaged: Salvaged
) -> None:
    if not columns:
        return
    known = {name for _, name, *_, hidden in db.execute(f"PRAGMA table_xinfo({table})") if not hidden}
    shared = [name for name in columns if name in known]
    names = ", ".join(shared)
    marks = ", ".join("?" for _ in shared)
    insert = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"
    salvaged.kept[table] = salvaged.torn[table] = 0
    for rows in _readable(source, table, names):
        if rows is None:
            salvaged.torn[table] += 1
            continue
        with db:
            for row in rows:
                try:
                    db.execute(insert, row[1:])
                    salvaged.kept[table] += db.changes()
                except apsw.ConstraintError:
                    salvaged.torn[table] += 1  # what was read is no row that anybody wrote


def _readable(source: apsw.Connection, table: str, names: str) -> Iterator[list[tuple[Any, ...]] | None]:
    """Rows in the order of their numbers, some at a time; None for each stretch that cannot be read."""
    # NOT INDEXED: the tree of the table itself is asked, whatever state its indices are in.
    question = f"SELECT rowid, {names} FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid LIMIT ?"
    after: int = -(2**63)
    stride = 0
    while True:
        try:
            rows = source.execute(question, (after, _ROWS)).fetchall()
        except (apsw.CorruptError, apsw.IOError, UnicodeDecodeError):
            first = _first_only(source, question, after)
            if first is not None:
                after, stride = int(first[0]), 0
                yield [first]
                continue
            if not stride:
                yield None
            # Go on behind the damage: further away each time, since a torn page may have held many.
            stride = stride * 2 or 1
            if after > _LAST - stride:
                return
            after = (after if after > -(2**63) else 0) + stride
            continue
        if not rows:
            return
        after, stride = int(str(rows[-1][0])), 0
        yield rows


def _first_only(source: apsw.Connection, question: str, after: int) -> tuple[Any, ...] | None:
    """The next row alone, where it is what follows that cannot be read."""
    try:
        row: tuple[Any, ...] | None = source.execute(question, (after, 1)).fetchone()
    except (apsw.CorruptError, apsw.IOError, UnicodeDecodeError):
        return None
    return row


def _keep_epoch(source: apsw.Connection, db: apsw.Connection) -> None:
    """Numbers may have been lost, so the next opening begins another epoch: it finds no token of its own beside."""
    try:
        meta = [(name, value) for name, value in source.execute("SELECT name, value FROM meta NOT INDEXED")]
    except (apsw.Error, UnicodeDecodeError):
        meta = [("incarnation", "lost"), ("epoch", "1000000")]
    db.executemany("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", meta)


def _tidy(db: apsw.Connection, salvaged: Salvaged) -> None:
    with db:
        for statement in _ORPHANS:
            db.execute(statement)
            salvaged.orphans += db.changes()
        db.execute(_LAST_SEQ)
