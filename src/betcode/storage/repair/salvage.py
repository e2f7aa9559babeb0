"""Copy the readable rows of a damaged database into a new one."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from betcode.domain.errors import DatabaseUnusable
from betcode.storage.migrations import MIGRATIONS, applied_to, migrate
from betcode.storage.repair.stray_events import stray_events
from betcode.storage.repair.torn_table import readable_rows
from betcode.storage.sqlite.database import connect, connect_to_look, make_private, unusable

_NUMBER = re.compile("[0-9]{1,9}")

# Parents before children. `migrations` and `meta` are made by the new database, but for the epoch.
_TABLES = (
    *("sessions", "session_makings", "events", "runs", "inputs", "input_payloads", "pending_permissions"),
    *("blobs", "blob_pieces", "permission_grants", "audit", "session_bonds"),
    *("reported_events", "agent_activities"),
)
# Rows without an owner cannot be shown, and the next check would report them as damage.
_ORPHANS = (
    ("events", "place >> 40 NOT IN (SELECT key FROM sessions)"),
    ("inputs", "session NOT IN (SELECT key FROM sessions)"),
    ("input_payloads", "input NOT IN (SELECT key FROM inputs)"),
    ("session_makings", "session NOT IN (SELECT key FROM sessions)"),
    ("runs", "session NOT IN (SELECT key FROM sessions)"),
    ("pending_permissions", "session_id NOT IN (SELECT key FROM sessions)"),
    ("blobs", "session NOT IN (SELECT key FROM sessions)"),
    ("blob_pieces", "blob NOT IN (SELECT key FROM blobs)"),
    ("permission_grants", "session NOT IN (SELECT key FROM sessions)"),
    ("session_bonds", "session NOT IN (SELECT key FROM sessions)"),
)
# A session's last number must not be smaller than that of any of its events, nor larger than a number can be.
_LAST_SEQ = """
UPDATE sessions SET last_seq = max(iif(last_seq BETWEEN 0 AND 1099511627775, last_seq, 0), coalesce(
    (SELECT max(seq) FROM events WHERE place BETWEEN (key << 40) AND ((key << 40) | 1099511627775)), 0))
"""
# Numbers of events leave no gap.
_MISSING = """
SELECT coalesce(sum(last_seq - (
    SELECT count(*) FROM events WHERE place BETWEEN (key << 40) AND ((key << 40) | 1099511627775))), 0)
FROM sessions WHERE deleted = 0
"""


@dataclass(slots=True)
class Salvaged:
    """Rows by table."""

    kept: dict[str, int] = field(default_factory=dict)
    torn: dict[str, int] = field(default_factory=dict)  # places where one row or more could not be read
    orphans: int = 0
    missing: int = 0  # events that the sessions must have had


def salvage(damaged: Path, target: Path) -> Salvaged:
    """Write to the new file `target` every row of `damaged` that can still be read.

    Raises:
        DatabaseUnusable: not even its tables can be found, or the new one cannot be written.
    """
    salvaged = Salvaged()
    try:
        source = connect_to_look(damaged)
        try:
            # It opens truncated files too, and skips a table or index whose description is damaged.
            source.pragma("writable_schema", 1)
            columns = _tables(source, damaged)
            make_private(target)
            db = connect(target)
            try:
                migrate(db, target)
                db.pragma("foreign_keys", 0)
                for table, names in columns.items():
                    _copy_table(source, db, table, names, salvaged)
                _keep_epoch(source, db)
                _tidy(db, salvaged)
                if salvaged.missing:
                    _find_stray(damaged, db, salvaged)
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            finally:
                db.close()
        finally:
            source.close()
    except (apsw.Error, OSError) as error:
        raise unusable(damaged, error) from error
    return salvaged


def _tables(source: apsw.Connection, damaged: Path) -> dict[str, list[str]]:
    """The columns of each; none where a table is not found that should be there."""
    try:
        found = {table: _columns(source, table) for table in _TABLES}
    except (apsw.Error, UnicodeDecodeError) as error:
        raise _no_tables(damaged, error) from error
    if not found["sessions"] or not found["events"]:
        raise _no_tables(damaged, "required tables are missing")
    return found if _is_newest(source, damaged) else {table: names for table, names in found.items() if names}


def _is_newest(source: apsw.Connection, damaged: Path) -> bool:
    try:
        return applied_to(source, damaged) == len(MIGRATIONS)
    except (apsw.Error, DatabaseUnusable, TypeError, ValueError):
        return True


def _no_tables(damaged: Path, why: object) -> DatabaseUnusable:
    return DatabaseUnusable(f"{damaged} has a damaged list of tables ({why}): restore a backup")


def _columns(db: apsw.Connection, table: str) -> list[str]:
    return [name for _, name, *_, hidden in db.execute(f"PRAGMA table_xinfo({table})") if not hidden]


def _copy_table(
    source: apsw.Connection, db: apsw.Connection, table: str, columns: list[str], salvaged: Salvaged
) -> None:
    known = _columns(db, table)
    shared = [name for name in columns if name in known]
    names = ", ".join(("rowid", *shared))
    insert = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * (1 + len(shared)))})"
    salvaged.kept[table] = 0
    salvaged.torn[table] = 0 if shared else 1
    if not shared:
        return
    for rows in readable_rows(source, table, shared):
        if rows is None:
            salvaged.torn[table] += 1
            continue
        with db:
            for row in rows:
                try:
                    db.execute(insert, row)
                    salvaged.kept[table] += 1
                except apsw.ConstraintError:
                    if not db.execute(f"SELECT 1 FROM {table} WHERE rowid = ?", row[:1]).fetchall():
                        salvaged.torn[table] += 1  # what was read is no row that anybody wrote


def _keep_epoch(source: apsw.Connection, db: apsw.Connection) -> None:
    """Numbers may have been lost, so the next opening starts a new epoch: it finds no matching token file."""
    try:
        meta = dict(source.execute("SELECT name, value FROM meta NOT INDEXED"))
    except (apsw.Error, UnicodeDecodeError):
        meta = {}
    kept = {name: value for name, value in meta.items() if isinstance(name, str) and isinstance(value, str)}
    kept.setdefault("incarnation", "lost")
    if not _NUMBER.fullmatch(kept.get("epoch", "")):
        kept["epoch"] = "1000000"
    db.executemany("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", list(kept.items()))


def _find_stray(damaged: Path, db: apsw.Connection, salvaged: Salvaged) -> None:
    """Events that no tree leads to any more, of sessions that are known."""
    keep = "INSERT OR IGNORE INTO events (place, kind, data) SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM sessions "
    keep += "WHERE key = ?1 >> 40 AND last_seq >= ?1 & 1099511627775 AND deleted = 0)"
    with db:
        for event in stray_events(damaged):
            db.execute(keep, (event.place, event.kind, event.data))
            salvaged.kept["events"] += db.changes()
        salvaged.missing = int(db.execute(_MISSING).get)


def _tidy(db: apsw.Connection, salvaged: Salvaged) -> None:
    with db:
        for table, is_orphan in _ORPHANS:
            db.execute(f"DELETE FROM {table} WHERE {is_orphan}")
            salvaged.orphans += db.changes()
            salvaged.kept[table] = salvaged.kept.get(table, 0) - db.changes()
        db.execute(_LAST_SEQ)
        salvaged.missing = int(db.execute(_MISSING).get)
