"""One JSON object per line, in a file of bounded size and on stderr.

Texts of people and agents appear at debug level, truncated. Anything like a secret is removed from every line.
"""

import errno
import json
import logging
import os
import re
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Protocol

from betcode.domain.values.secrets import redacted, redacted_json
from betcode.telemetry.log_context import current
from betcode.telemetry.log_thread import LogThread, ThreadedHandler
from betcode.util.state_files import UnusableEntry, open_file

TRACE = 5  # raw lines of agents
_LEVELS = {
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": TRACE,
}
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
# Ends of lines to some readers, and what turns text around on a terminal; all of it can only be inside of strings.
_ODD = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


class JsonLines(logging.Formatter):
    """timestamp, level, span, target and message; session_id where one is concerned; facts that the caller gave."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        work = current()
        line: dict[str, object] = {
            "timestamp": moment.replace("+00:00", "Z"),
            "level": "error" if record.levelno >= logging.ERROR else record.levelname.lower(),
            "span": work.span,
            "target": record.name,
            "message": record.getMessage(),
        }
        if work.session_id:
            line["session_id"] = work.session_id
        line.update((name, value) for name, value in vars(record).items() if name not in _USUAL)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _ODD.sub(_escaped, redacted_json(json.dumps(line, default=str, ensure_ascii=False)))


class ForPeople(logging.Formatter):
    """Time, level and message, on a terminal."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-5s %(message)s", datefmt="%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))


class BoundedFile(RotatingFileHandler):
    """The log file and `keep` older ones. If stderr is the same file, it is redirected to the new one.

    A file that was moved or removed is created again, because the old one has no readers. `opens` returns a descriptor
    for appending; a FIFO or a device instead of the file must not block it.
    """

    def __init__(
        self, path: Path, limit_bytes: int, keep: int = 1, *, opens: Callable[[Path], int] | None = None
    ) -> None:
        self._opens = opens or open_named_log
        super().__init__(path, maxBytes=limit_bytes, backupCount=keep, encoding="utf-8", errors="backslashreplace")
        self.is_stderr = self.stream is not None and _is_stderr(os.fstat(self.stream.fileno()))

    def _open(self) -> TextIOWrapper:
        descriptor = self._opens(Path(self.baseFilename))
        return os.fdopen(descriptor, "a", encoding=self.encoding, errors=self.errors)

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # then the old one is still better than none
            self._begin_anew_where_gone()
        super().emit(record)

    def _begin_anew_where_gone(self) -> None:
        path = Path(self.baseFilename)
        if self.stream is None:
            return
        try:
            if os.path.samestat(path.stat(), os.fstat(self.stream.fileno())):
                return
        except FileNotFoundError:
            pass
        begun = self._open()
        self.stream.close()
        self.stream = begun
        self._follow_with_stderr()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 the name of the standard library
        """Ignore errors of logging: a full disk is reported by the components that need it."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)

    def doRollover(self) -> None:  # noqa: N802 the name of the standard library
        if self.backupCount:
            super().doRollover()
        elif self.stream is not None:
            self.stream.truncate(0)  # it is written at its end, which is here now
        self._follow_with_stderr()

    def _follow_with_stderr(self) -> None:
        if self.is_stderr and self.stream is not None:
            # Python's own output, such as a final traceback or a fault, belongs to the new file.
            os.dup2(self.stream.fileno(), 2)


class LogPlan(Protocol):
    """The settings of the log."""

    @property
    def level(self) -> str: ...
    @property
    def limit_bytes(self) -> int: ...
    @property
    def keep(self) -> int: ...
    def path(self, usual: Path) -> Path: ...


def set_up_logging(plan: LogPlan, usual: Path) -> str:
    """Log to the configured file, else the usual one, and to stderr unless that is one of these.

    Returns why the usual file, an entry of the state directory, cannot be used; the log is then only on stderr.

    Raises:
        OSError: the configured file cannot be written.
    """
    logging.addLevelName(TRACE, "TRACE")
    logging.addLevelName(logging.WARNING, "WARN")
    set_log_level(plan.level)
    path = plan.path(usual)
    thread = LogThread()
    trouble = ""
    is_stderr = False
    try:
        file = BoundedFile(path, plan.limit_bytes, plan.keep, opens=_open_usual if path == usual else None)
    except UnusableEntry as unusable:
        trouble = str(unusable)
    else:
        is_stderr = file.is_stderr
        _add(ThreadedHandler(file, JsonLines(), thread))
    if not is_stderr and path != usual and _is_stderr_at(usual):
        # A command that started the daemon reads there why it does not serve. It must not grow without limit, either.
        errors = BoundedFile(usual, plan.limit_bytes, plan.keep, opens=_open_usual)
        _add(ThreadedHandler(errors, JsonLines(), thread), logging.ERROR)
    elif not is_stderr:
        formatter = ForPeople() if sys.stderr.isatty() else JsonLines()
        _add(ThreadedHandler(logging.StreamHandler(sys.stderr), formatter, thread))
    return trouble


def _add(handler: logging.Handler, level: int = logging.NOTSET) -> None:
    handler.setLevel(level)
    logging.getLogger().addHandler(handler)


def set_log_level(level: str) -> None:
    """Set the minimum level of log lines."""
    logging.getLogger().setLevel(_LEVELS[level])
    # Operators do not need the messages of the runtime and libraries about their own work.
    for talkative in ("asyncio", "grpc"):
        logging.getLogger(talkative).setLevel(max(logging.WARNING, _LEVELS[level]))


def _open_usual(path: Path) -> int:
    return open_file(path, _APPEND)


def open_named_log(path: Path) -> int:
    """Open a file that a person named: links are followed, and a device such as /dev/null is accepted.

    Raises: OSError, also for a pipe, which would block the log until it is read.
    """
    pipe = OSError(errno.EINVAL, "it is a pipe", str(path))
    try:
        descriptor = os.open(path, _APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, 0o600)
    except OSError as error:
        raise pipe if error.errno == errno.ENXIO else error from None  # a pipe without a reader
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise pipe
    return descriptor


def _is_stderr_at(path: Path) -> bool:
    try:
        return _is_stderr(path.lstat())
    except OSError:
        return False


def _is_stderr(facts: os.stat_result) -> bool:
    with suppress(OSError):  # there may be none
        return os.path.samestat(os.fstat(2), facts)
    return False
