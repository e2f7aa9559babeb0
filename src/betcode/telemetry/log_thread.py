"""Write log lines in a thread, so that a slow disk or terminal delays no caller."""

import logging
from queue import SimpleQueue
from threading import Event, Thread

PENDING_LIMIT = 10_000
_FLUSHED_WITHIN_S = 2.0


class LogThread:
    """One thread for all handlers, so that their lines keep their order."""

    def __init__(self, pending_limit: int = PENDING_LIMIT) -> None:
        self._limit = pending_limit
        self._queue: SimpleQueue[tuple[logging.Handler, logging.LogRecord] | Event] = SimpleQueue()
        Thread(target=self._write, name="betcode-log", daemon=True).start()

    @property
    def is_full(self) -> bool:
        return self._queue.qsize() >= self._limit

    def put(self, target: logging.Handler, line: logging.LogRecord) -> None:
        self._queue.put((target, line))

    def flush(self) -> None:
        """Wait until all lines are written, within a bound."""
        written = Event()
        self._queue.put(written)
        written.wait(_FLUSHED_WITHIN_S)

    def _write(self) -> None:
        while True:
            job = self._queue.get()
            if isinstance(job, Event):
                job.set()
            else:
                target, line = job
                target.handle(line)


class ThreadedHandler(logging.Handler):
    """Formats a line immediately, since only the caller's context has session and span, and lets `target` write it.

    Lines that do not fit in the queue are dropped; the next line that fits is followed by one with their number.
    """

    def __init__(self, target: logging.Handler, formatter: logging.Formatter, thread: LogThread) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._target = target
        self._thread = thread
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        if self._thread.is_full:
            self._dropped += 1
            return
        try:
            self._put(record)
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                words = f"{dropped} log lines were dropped: the log could not be written fast enough"
                facts = {"name": __name__, "levelno": logging.WARNING, "levelname": "WARN", "msg": words}
                self._put(logging.makeLogRecord(facts))
        except Exception:  # noqa: BLE001 - as every handler of the standard library
            self.handleError(record)

    def flush(self) -> None:
        self._thread.flush()

    def _put(self, record: logging.LogRecord) -> None:
        line = logging.makeLogRecord({"levelno": record.levelno, "msg": self.format(record)})
        self._thread.put(self._target, line)
