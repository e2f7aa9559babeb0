"""Checkpoint the write-ahead log concurrently with the writer, so that the log stays small."""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import apsw

from betcode.domain.errors import BetcodeError, DatabaseUnusable, StorageDegraded
from betcode.storage.sqlite.database import storage_error
from betcode.telemetry import log_context

logger = logging.getLogger(__name__)

_EVERY_PAGES = 1_000  # 4 MB
_RESTART_AT_PAGES = 8_000  # 32 MB
_AHEAD_PAGES = 16_000  # 64 MB
_PATIENCE_S = 2.0
_TRUNCATE_WITHIN_S = 10.0  # a reader that stays longer keeps the write-ahead log from being emptied
_LOOK_EVERY_S = 2.0  # whether the file is still there


class Checkpoints:
    """A thread with a connection of its own."""

    def __init__(self, path: Path, db: apsw.Connection, on_fatal: Callable[[BaseException], None]) -> None:
        self._path = path
        self._file = _identity(path)
        self._db = db
        self._on_fatal = on_fatal
        self._gate = threading.Lock()
        self._wake = threading.Event()
        self._tried = threading.Event()
        self._stopping = False
        self._written = 0
        self._asked_at = 0
        self._copied = 0
        self._lock = threading.Lock()
        self._truncating: list[asyncio.Future[None]] = []
        self._thread = threading.Thread(target=self._run, name="log-checkpoints", daemon=True)

    def start(self, gate: threading.Lock) -> None:
        """From now on; the writer holds `gate` while it is in a transaction."""
        self._gate = gate
        self._thread.start()

    def pages_written(self, total: int) -> None:
        """In the writer's thread, between transactions: so many pages have been written in all.

        A writer that is far ahead of the copying waits for it here, or its log would grow for as long as it writes.
        """
        self._written = total
        if total - self._asked_at >= _EVERY_PAGES:
            self._asked_at = total
            self._wake.set()
        if total - self._copied >= _AHEAD_PAGES:
            self._tried.clear()
            self._wake.set()
            self._tried.wait(_PATIENCE_S)

    async def truncate(self) -> None:
        """Copy the whole write-ahead log into the database and empty it: old versions of pages are in it.

        Raises:
            StorageDegraded: a reader or the disk did not allow it in time.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._truncating.append(future)
        self._wake.set()
        try:
            await asyncio.wait_for(future, _TRUNCATE_WITHIN_S)
        except TimeoutError:
            raise StorageDegraded(
                "The write-ahead log cannot be emptied: another program reads the database", reason="it is being read"
            ) from None

    def stop(self) -> None:
        """From another thread: finish, and end."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        log_context.begin("checkpoint")
        try:
            while True:
                woken = self._wake.wait(_LOOK_EVERY_S)
                if self._stopping:
                    return
                if _identity(self._path) != self._file:
                    raise DatabaseUnusable(
                        f"{self._path} was removed or replaced while the daemon runs: new data would be lost"
                    )
                if woken:
                    self._wake.clear()
                    self._checkpoint()
                    self._tried.set()
                    self._truncate()
        except DatabaseUnusable as error:
            self._tried.set()
            self._on_fatal(error)
        except BaseException as error:
            logger.critical("the log's checkpoints have ended", exc_info=True)
            self._on_fatal(error)

    def _checkpoint(self) -> None:
        """Copy while the writer works; if the log is still large, stop the writer while the rest is copied."""
        written = self._written
        try:
            pages, _copied = self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if pages >= _RESTART_AT_PAGES:
                # Under steady writing the copy never quite catches up, so the log never begins anew by itself.
                with self._gate:
                    written = self._written
                    self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        except apsw.BusyError:
            logger.debug("a reader blocks the checkpoint")
        except apsw.Error as error:
            # Nothing is lost: the log keeps it all, and the next wake tries again.
            logger.error("the checkpoint failed: %s", error)
        else:
            self._copied = written

    def _truncate(self) -> None:
        """Serve everyone who waits for it; retry while a reader is in the way."""
        with self._lock:
            waiting = [future for future in self._truncating if not future.done()]
            self._truncating = []
        if not waiting:
            return
        try:
            with self._gate:
                self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            with self._lock:
                self._truncating += waiting
            self._wake.set()
            return
        except apsw.Error as error:
            failure: BetcodeError | None = storage_error(error)
        else:
            failure = None
        for future in waiting:
            future.get_loop().call_soon_threadsafe(_settle, future, failure)


def _settle(future: "asyncio.Future[None]", failure: BetcodeError | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(None)
    else:
        future.set_exception(failure)


def _identity(path: Path) -> tuple[int, int]:
    """Which file this name means; zeros where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return (0, 0)
    return (facts.st_dev, facts.st_ino)
