"""Copy the database while it is in use: one consistent state, private, and checked before it gets its name."""

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from betcode.domain.errors import DatabaseUnusable
from betcode.storage.repair.integrity_check import problems
from betcode.storage.sqlite.database import connect_to_look, unusable
from betcode.util.atomic_files import install_file

_STEP_PAGES = 2_000  # progress is reported after each, and signals are handled

Progress = Callable[[int, int], None]  # pages copied, pages in all


def copy_database(source: Path, target: Path, on_progress: Progress) -> int:
    """Copy `source` as it is at this moment to the new file `target`; its size in bytes. Writers are not held up.

    Raises:
        DatabaseUnusable: one of the two cannot be used, or the copy is damaged. Then there is no `target`.
    """
    unfinished = target.with_name(target.name + ".unfinished")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise DatabaseUnusable(f"{target} cannot be written: {error.strerror or error}") from error
    try:
        _copy(source, unfinished, on_progress)
        if found := list(problems(unfinished, full=False)):
            raise DatabaseUnusable(f"The copy is damaged, as {source} may be ({found[0]}): see `betcode db check`")
        install_file(unfinished, target)
    except OSError as error:
        raise DatabaseUnusable(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        for left in (unfinished, Path(f"{unfinished}-wal"), Path(f"{unfinished}-shm"), Path(f"{unfinished}-journal")):
            left.unlink(missing_ok=True)
    return target.stat().st_size


def _copy(source: Path, target: Path, on_progress: Progress) -> None:
    origin = connect_to_look(source)
    try:
        copy = apsw.Connection(str(target))
        try:
            # One read transaction around all steps: what others commit meanwhile is no reason to begin again.
            origin.execute("BEGIN")
            origin.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            with copy.backup("main", origin, "main") as backup:
                while not backup.done:
                    backup.step(_STEP_PAGES)
                    on_progress(backup.page_count - backup.remaining, backup.page_count)
            # One file, even if another program opens it; a daemon changes the mode back.
            copy.pragma("journal_mode", "delete")
        finally:
            copy.close()
    except apsw.FullError as error:
        raise DatabaseUnusable(f"{target.parent} has not enough free space for the copy") from error
    except apsw.IOError as error:
        raise DatabaseUnusable(f"The disk of {target.parent} or {source.parent} fails: {error}") from error
    except apsw.Error as error:
        raise unusable(source, error) from error
    finally:
        origin.close()
