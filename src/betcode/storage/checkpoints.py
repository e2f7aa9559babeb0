"""Copies what was committed out of the write-ahead log, beside the writer, so that that log stays small."""

import logging
import threading
from collections.abc import Callable

import apsw

logger = logging.getLogger(__name__)

_EVERY_PAGES = 1_000  # 4 MB
_RESTART_AT_PAGES = 8_000  # 32 MB


class Checkpoints:
    """A thread with a connection of its own."""

    def __init__(self, db: apsw.Connection, on_fatal: Callable[[BaseException], None]) -> None:
        self._db = db
        self._on_fatal = on_fatal
        self._wake = threading.Event()
        self._stopping = False
        self._pages = 0
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="log-checkpoints", daemon=True)

    def start(self, gate: threading.Lock) -> None:
        """From now on; the writer holds `gate` while it is in a transaction."""
        self._gate = gate
        self._thread.start()

    def pages_written(self, total: int) -> None:
        """In the writer's thread: so many pages have been written in all."""
        if total - self._pages >= _EVERY_PAGES:
            self._pages = total
            self._wake.set()

    def stop(self) -> None:
        """Called from another thread than its own."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._wake.wait() and not self._stopping:
                self._wake.clear()
                self._checkpoint()
        except BaseException as error:
            logger.critical("the log's checkpoints have ended", exc_info=True)
            self._on_fatal(error)

    def _checkpoint(self) -> None:
        """Copy beside the writer; once the log has grown large, hold the writer while the rest is copied."""
        try:
            pages, _copied = self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if pages < _RESTART_AT_PAGES:
                return
            # Under steady writing the copy never quite catches up, and the log would grow for ever.
            self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            with self._gate:
                self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        except apsw.Error as error:
            # A reader in the way, or no room: the log keeps everything, and the next wake tries again.
            logger.log(
                logging.DEBUG if isinstance(error, apsw.BusyError) else logging.ERROR, "no checkpoint: %s", error
            )
