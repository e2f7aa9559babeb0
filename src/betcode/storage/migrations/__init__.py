"""Numbered changes of the schema: each is applied once, in order, and not changed afterwards."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from betcode.domain.errors import DatabaseUnusable
from betcode.storage.migrations.m001_the_log import m001_the_log
from betcode.storage.migrations.m002_turns_under_control import m002_turns_under_control
from betcode.storage.migrations.m003_permissions import m003_permissions
from betcode.storage.migrations.m004_worktrees import m004_worktrees
from betcode.storage.migrations.m005_session_bindings import m005_session_bindings
from betcode.storage.migrations.m006_abandoned_turns import m006_abandoned_turns
from betcode.storage.migrations.m007_prompts_in_seconds import m007_prompts_in_seconds
from betcode.util.atomic_files import install_file
from betcode.util.wall_clock import now_ns

Migration = Callable[[apsw.Connection], None]

MIGRATIONS: tuple[Migration, ...] = (
    m001_the_log,
    m002_turns_under_control,
    m003_permissions,
    m004_worktrees,
    m005_session_bindings,
    m006_abandoned_turns,
    m007_prompts_in_seconds,
)

_APPLICATION_ID = 0x42657443  # "BetC": tells our file from any other SQLite database


def migrate(db: apsw.Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the database to the newest schema; a copy of the older database is stored in the same directory.

    Raises:
        DatabaseUnusable: it belongs to another program or to a newer betcode.
    """
    applied = _applied(db, path)
    if applied > len(migrations):
        raise DatabaseUnusable(
            f"{path} was written by a newer betcode (its schema is {applied}, this program knows {len(migrations)}): "
            "upgrade betcode, or choose another state directory"
        )
    if 0 < applied < len(migrations):
        _keep_copy(db, path.with_name(f"{path.name}.before-m{applied + 1:03}"))
    for number, migration in enumerate(migrations[applied:], start=applied + 1):
        name = getattr(migration, "__name__", "")
        assert name.startswith(f"m{number:03}_"), f"migration {number} is called {name}"
        _apply(db, number, name, migration)


def applied_to(db: apsw.Connection, path: Path) -> int:
    """The number of the newest migration that this database has seen; 0 for an empty file.

    Raises:
        DatabaseUnusable: it belongs to another program.
    """
    application = db.pragma("application_id")
    if application == _APPLICATION_ID:
        return int(db.execute("SELECT coalesce(max(number), 0) FROM migrations").get)
    if application or db.execute("SELECT count(*) FROM sqlite_schema").get:
        raise DatabaseUnusable(f"{path} is a database of another program: choose another state directory")
    return 0


def _applied(db: apsw.Connection, path: Path) -> int:
    """The same, and an empty file is made ours."""
    applied = applied_to(db, path)
    if applied or db.pragma("application_id") == _APPLICATION_ID:
        return applied
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute(
            "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_ns INTEGER) STRICT"
        )
        db.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    return 0


def _apply(db: apsw.Connection, number: int, name: str, migration: Migration) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        migration(db)
        db.execute("INSERT INTO migrations (number, name, applied_ns) VALUES (?, ?, ?)", (number, name, now_ns()))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _keep_copy(db: apsw.Connection, copy: Path) -> None:
    """A whole copy under its own name, or none: it appears there only when it is complete."""
    unfinished = copy.with_name(copy.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_WRONLY, 0o600))
    target = apsw.Connection(str(unfinished))
    try:
        with target.backup("main", db, "main") as backup:
            while not backup.done:
                backup.step()
    finally:
        target.close()
    install_file(unfinished, copy)
