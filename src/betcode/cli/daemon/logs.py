"""`betcode daemon logs`: print the daemon's log, also while it is stopped."""

import json
import select
import sys
import time
from datetime import datetime

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import refuse_remote
from betcode.cli.daemon.log_path import log_path
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.telemetry.log_files import LogEntry, LogFiles, LogFilter
from betcode.wording.terminal_text import clean

_POLL_S = 0.2
_ID_SHOWN = 8


def logs(options: CommandOptions) -> int:
    """Print the newest lines, then follow the log if requested."""
    refuse_remote(options.paths)
    screen = standard_screen()
    path = log_path(options.paths)
    log_filter = LogFilter(options.text("level") or "trace", options.text("session").lower())
    files = LogFiles(path)
    try:
        if not path.exists():
            screen.note(f"There is no log at {path} yet")
        for entry in files.newest(options.number("lines"), log_filter):
            _show(screen, entry, as_json=options.as_json)
        if options.flag("follow"):
            _follow(files, log_filter, screen, as_json=options.as_json)
    except BrokenPipeError:
        raise
    except OSError as trouble:
        raise CommandFailed(f"The log cannot be read: {trouble}", ExitCode.INTERNAL) from trouble
    finally:
        files.close()
    return ExitCode.OK


def _follow(files: LogFiles, log_filter: LogFilter, screen: Screen, *, as_json: bool) -> None:
    """Follow the log until Ctrl-C, or until the reader of stdout closes it."""
    reader = select.poll()
    reader.register(sys.stdout.fileno(), 0)  # events 0: report only that the other end is closed
    while not reader.poll(0):
        for entry in files.added(log_filter):
            _show(screen, entry, as_json=as_json)
        time.sleep(_POLL_S)


def _show(screen: Screen, entry: LogEntry, *, as_json: bool) -> None:
    if as_json:
        screen.json(json.loads(entry.text) if entry.level else {"message": entry.message})
        return
    if not entry.level:
        screen.line(entry.message)
        return
    session = f" {entry.session_id[:_ID_SHOWN]}" if entry.session_id else ""
    facts = "".join(f" {name}={_value(value)}" for name, value in entry.facts.items())
    screen.line(
        _on_one_line(f"{_moment(entry.timestamp)} {entry.level.upper():5} {entry.span}{session} {entry.message}{facts}")
    )
    for line in entry.exception.splitlines():
        screen.line(f"    {line}")


def _moment(timestamp: str) -> str:
    try:
        return datetime.fromisoformat(timestamp).astimezone().isoformat(" ", "milliseconds")[:-6]
    except ValueError:
        return timestamp


def _value(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() and " " not in value else json.dumps(value)


def _on_one_line(text: str) -> str:
    """Escape line breaks, so that one message cannot imitate several entries."""
    return clean(text).replace("\n", "␤")
