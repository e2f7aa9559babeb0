"""`betcode db repair` and `restore`: replace the database while no daemon runs, and save the old file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from betcode._version import __version__
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import refuse_remote
from betcode.cli.db.commands import Progress, refuse_missing
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.progress import show_blocking_progress
from betcode.config.lockfile import LockHeld, LockOwner, hold_lock
from betcode.config.paths import Paths
from betcode.domain.errors import DatabaseUnusable
from betcode.util.atomic_files import install_file
from betcode.wording.sizes import readable

_BESIDE = ("-wal", "-shm")


def repair(options: CommandOptions) -> int:
    """Copy everything readable into a new database, and save the damaged file beside it."""
    from betcode.storage import problems, salvage

    screen = standard_screen()
    database = options.paths.database
    with _alone(options.paths), _disk_errors():
        with show_blocking_progress(screen, "Checking"):
            found = list(problems(database, full=True))
        if not found:
            if options.as_json:
                screen.json({"repaired": False, "whole": True})
            else:
                screen.line(f"{database} is intact; nothing to repair")
            return ExitCode.OK
        screen.note(f"Damaged: {found[0]}. Recovering readable data")
        fresh = database.with_name(database.name + ".repaired")
        _remove(fresh)
        try:
            with show_blocking_progress(screen, "Saving"):
                saved = salvage(database, fresh)
                left = list(problems(fresh, full=True))
            if left:
                raise CommandFailed(
                    f"The recovered database is damaged too ({left[0]}): restore a backup", ExitCode.INTERNAL
                )
            kept = _set_aside(database, "damaged")
            install_file(fresh, database)
        finally:
            _remove(fresh)
    rows, torn = sum(saved.kept.values()), sum(saved.torn.values())
    if options.as_json:
        screen.json(
            {"repaired": True, "whole": True, "kept": saved.kept, "torn": saved.torn, "orphans": saved.orphans}
            | {"missing_events": saved.missing, "damaged_file": str(kept), "sessions": saved.kept.get("sessions", 0)},
            indent=2,
        )
        return ExitCode.OK
    screen.line(f"{rows} rows saved, of them {saved.kept.get('sessions', 0)} sessions; {torn} parts could not be read")
    if saved.orphans:
        screen.line(f"{saved.orphans} rows of sessions that could not be recovered were skipped")
    if saved.missing:
        screen.line(f"{saved.missing} events of the saved sessions are lost")
    screen.line(f"The damaged database was saved as {kept}")
    screen.note("Incomplete histories are marked: each session starts a new epoch when the daemon opens it")
    return ExitCode.OK


def restore(options: CommandOptions) -> int:
    """Replace the database by a copy, and save the present file beside it."""
    from betcode.storage import copy_database, problems

    screen = standard_screen()
    source = Path(options.text("file")).expanduser().absolute()
    database = options.paths.database
    refuse_missing(source)
    if source.resolve() == database.resolve():
        raise CommandFailed("That is the database itself: give a backup", ExitCode.INVALID_ARGUMENTS)
    with _alone(options.paths), _disk_errors():
        with show_blocking_progress(screen, "Checking"):
            found = list(problems(source, full=True))
        if found:
            raise CommandFailed(f"{source} is damaged ({found[0]}): no change was made", ExitCode.INTERNAL)
        fresh = database.with_name(database.name + ".restored")
        size = copy_database(source, fresh, Progress(screen, "Copying"))
        kept = _set_aside(database, "before-restore") if database.exists() else None
        install_file(fresh, database)
    if options.as_json:
        screen.json({"restored": str(source), "bytes": size, "before": str(kept) if kept else None})
    else:
        screen.line(f"{database} is {source} now ({readable(size)})")
        if kept:
            screen.line(f"The previous database was saved as {kept}")
    return ExitCode.OK


@contextmanager
def _alone(paths: Paths) -> Iterator[None]:
    """Hold the daemon's lock, so that no daemon runs or starts meanwhile."""
    refuse_remote(paths)
    me = LockOwner(os.getpid(), datetime.now(UTC).isoformat(timespec="seconds"), "", __version__)
    if not paths.state_dir.is_dir():
        raise CommandFailed(f"No state directory at {paths.state_dir}", ExitCode.INVALID_ARGUMENTS)
    try:
        with hold_lock(paths.lock, me):
            yield
    except LockHeld as held:
        who = f" (pid {held.holder.pid})" if held.holder else ""
        raise CommandFailed(
            f"The daemon{who} is using the database. Stop it first: betcode daemon stop", ExitCode.INVALID_ARGUMENTS
        ) from held


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except DatabaseUnusable as trouble:
        raise CommandFailed(trouble.message, ExitCode.INTERNAL) from trouble
    except OSError as trouble:
        raise CommandFailed(f"The database cannot be replaced: {trouble}", ExitCode.INTERNAL) from trouble


def _set_aside(database: Path, why: str) -> Path:
    """Save the database under another name and move its auxiliary files away. Its own name is always in use.

    A daemon that found no database would create an empty one.
    """
    aside = database.with_name(f"{database.name}.{why}-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    aside.hardlink_to(database)
    for suffix in _BESIDE:
        part = database.with_name(database.name + suffix)
        if part.exists():
            part.replace(aside.with_name(aside.name + suffix))
    return aside


def _remove(database: Path) -> None:
    for suffix in ("", *_BESIDE):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
