"""`betcode db`: back up, check and measure the database file, with or without a daemon."""

import shutil
import time
from datetime import datetime
from pathlib import Path

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import refuse_remote
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.progress import show_blocking_progress
from betcode.cli.terminal.table import table
from betcode.config.paths import Paths
from betcode.domain.errors import DatabaseUnusable
from betcode.domain.values.times import rfc3339
from betcode.wording.ids import short_id
from betcode.wording.sizes import readable

_PROGRESS_S = 1.0
_PATTERN = "betcode-*.db"


def backup(options: CommandOptions) -> int:
    """Write a copy of the current database and print its path."""
    from betcode.storage import copy_database  # imported here: no other command reads the database

    refuse_remote(options.paths)
    screen = standard_screen()
    asked = options.text("file")
    target = Path(asked).expanduser().absolute() if asked else _next_copy(options.paths)
    if target.is_dir():
        target = target / _name()
    _refuse_harm(target, options.paths.database)
    if asked and not target.parent.is_dir():  # an unmounted disk: the copy would fill another one
        raise CommandFailed(f"No such directory: {target.parent}", ExitCode.INVALID_ARGUMENTS)
    if target.exists() and not options.flag("force"):
        raise CommandFailed(f"{target} already exists: choose another file, or add --force", ExitCode.INVALID_ARGUMENTS)
    try:
        size = copy_database(options.paths.database, target, Progress(screen, "Copying"))
    except DatabaseUnusable as trouble:
        raise CommandFailed(trouble.message, ExitCode.INTERNAL) from trouble
    removed = [] if asked or not options.number("keep") else _thinned(options.paths, options.number("keep"))
    if options.as_json:
        screen.json({"file": str(target), "bytes": size, "removed": [str(path) for path in removed]})
    else:
        screen.line(str(target))
        screen.note(f"{readable(size)}, checked" + (f"; {len(removed)} older backups removed" if removed else ""))
    return ExitCode.OK


def _refuse_harm(target: Path, database: Path) -> None:
    """Raises CommandFailed if the copy would replace a file in use, or something that is not a file."""
    is_its_own = target.name == database.name or target.name.startswith((f"{database.name}-", f"{database.name}."))
    if is_its_own and target.parent.resolve() == database.parent.resolve():
        raise CommandFailed(f"{target} belongs to the database itself: choose another file", ExitCode.INVALID_ARGUMENTS)
    if target.exists() and not target.is_file():
        raise CommandFailed(f"{target} is not a regular file: choose another file", ExitCode.INVALID_ARGUMENTS)


def check(options: CommandOptions) -> int:
    """Check the integrity of the database. The exit code is 1 if it is damaged."""
    from betcode.storage import problems

    refuse_remote(options.paths)
    screen = standard_screen()
    asked = options.text("file")
    path = Path(asked).expanduser().absolute() if asked else options.paths.database
    refuse_missing(path)
    try:
        with show_blocking_progress(screen, "Checking"):
            found = list(problems(path, full=not options.flag("quick")))
    except DatabaseUnusable as trouble:
        raise CommandFailed(trouble.message, ExitCode.INTERNAL) from trouble
    if options.as_json:
        screen.json({"file": str(path), "whole": not found, "problems": found}, indent=2)
    elif not found:
        screen.line(f"{path} is intact")
    else:
        for line in found:
            screen.line(line)
        screen.note(f"{path} is damaged: `betcode db repair` recovers readable data, after the daemon is stopped")
    return ExitCode.AGENT_ERROR if found else ExitCode.OK


def refuse_missing(database: Path) -> None:
    """Raises CommandFailed if the file does not exist: a mistyped name is not a damaged database."""
    if not database.exists():
        raise CommandFailed(f"No database at {database}", ExitCode.INVALID_ARGUMENTS)


def usage(options: CommandOptions) -> int:
    """Print the disk usage by kind, and the largest sessions."""
    from betcode.storage import database_use

    refuse_remote(options.paths)
    screen = standard_screen()
    paths = options.paths
    try:
        with show_blocking_progress(screen, "Measuring"):
            use = database_use(paths.database, options.number("limit"))
    except DatabaseUnusable as trouble:
        raise CommandFailed(trouble.message, ExitCode.INTERNAL) from trouble
    parts = _parts(paths)
    disk = shutil.disk_usage(paths.state_dir)
    if options.as_json:
        sessions = [
            {"session_id": one.session_id, "name": one.name, "status": one.status, "bytes": one.size}
            | {"events": one.events, "last_active": rfc3339(one.updated_ns)}
            for one in use.sessions
        ]
        facts = {"parts": parts, "database_used": use.used, "database_free": use.free}
        screen.json({**facts, "disk_free": disk.free, "sessions": sessions}, indent=2)
        return ExitCode.OK
    for name, size in parts.items():
        screen.line(f"{name:<16} {readable(size):>10}")
    if use.free:
        screen.line(f"{'of it reusable':<16} {readable(use.free):>10}")
    screen.line(f"{'free on the disk':<16} {readable(disk.free):>10}")
    if use.sessions:
        screen.line()
        rows = [
            (short_id(one.session_id), one.name, one.status, str(one.events), readable(one.size))
            for one in use.sessions
        ]
        for line in table(("SESSION", "NAME", "STATUS", "EVENTS", "SIZE"), rows, screen.width, spare=("STATUS",)):
            screen.line(line)
    return ExitCode.OK


class Progress:
    """Prints progress once a second, for work that takes longer than that."""

    def __init__(self, screen: Screen, doing: str) -> None:
        self._screen = screen
        self._doing = doing
        self._reported_at = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() - self._reported_at >= _PROGRESS_S and total:
            self._reported_at = time.monotonic()
            self._screen.note(f"{self._doing}: {100 * done // total} %")


def _parts(paths: Paths) -> dict[str, int]:
    """Return the sizes of everything in the state directory, by kind."""
    database = paths.database
    beside = {name: _size(database.with_name(database.name + name)) for name in ("", "-wal", "-shm")}
    token = f"{database.name}.incarnation"
    copies = [path for path in database.parent.glob(f"{database.name}.*") if not path.name.startswith(token)]
    return {
        "database": sum(beside.values()),
        "search index": sum(_size(path) for path in paths.state_dir.glob("search.db*")),
        "journals": _below(paths.runs),
        "logs": sum(_size(path) for path in paths.state_dir.glob("daemon.log*")),
        "backups": _below(_copies(paths)) + sum(_size(path) for path in copies),
    }


def _below(directory: Path) -> int:
    return sum(_size(path) for path in directory.rglob("*"))


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size if path.is_file() else 0
    except OSError:
        return 0  # removed since it was listed


def _copies(paths: Paths) -> Path:
    return paths.state_dir / "backups"


def _name() -> str:
    return f"betcode-{datetime.now():%Y%m%d-%H%M%S}.db"  # noqa: DTZ005 - a name that its reader understands


def _next_copy(paths: Paths) -> Path:
    """Return an unused name: two copies may be made in one second."""
    first = _copies(paths) / _name()
    others = (first.with_stem(f"{first.stem}-{number}") for number in range(2, 1000))
    return next((path for path in (first, *others) if not path.exists()), first)


def _thinned(paths: Paths, keep: int) -> list[Path]:
    """Remove all but the newest copies and return the removed ones; names sort by time."""
    old = sorted(_copies(paths).glob(_PATTERN), key=lambda path: path.stem)[:-keep]
    for path in old:
        path.unlink(missing_ok=True)
    return old
