"""Lines of the log are written by a thread, in order, and a writer that hangs delays nobody."""

import logging
from threading import Event

from betcode.telemetry.log_context import Span
from betcode.telemetry.log_thread import LogThread, ThreadedHandler
from betcode.telemetry.logs import JsonLines
from support.patience import PATIENCE_S


class Lines(logging.Handler):
    """Keeps what it is given, and hangs until `answers` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.answers = Event()
        self.began = Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.began.set()
        self.answers.wait(PATIENCE_S)
        self.lines.append(self.format(record))


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("test", logging.INFO, __file__, 1, message, None, None)


def test_lines_are_formatted_in_the_context_of_their_caller_and_written_in_order() -> None:
    target = Lines()
    target.answers.set()
    handler = ThreadedHandler(target, JsonLines(), LogThread())
    with Span("turn", root=True, session_id="0197"):
        handler.handle(record("one 100%"))
    handler.handle(record("two"))
    handler.flush()
    one, two = target.lines
    assert '"session_id": "0197"' in one
    assert '"message": "one 100%"' in one
    assert "0197" not in two


def test_a_log_that_hangs_delays_nobody_and_lines_that_do_not_fit_are_counted() -> None:
    target = Lines()
    handler = ThreadedHandler(target, logging.Formatter(), LogThread(pending_limit=2))
    handler.handle(record("first"))
    assert target.began.wait(PATIENCE_S)
    for number in range(5):
        handler.handle(record(f"line {number}"))
    target.answers.set()
    handler.flush()
    handler.handle(record("last"))
    handler.flush()
    dropped = "3 log lines were dropped: the log could not be written fast enough"
    assert target.lines == ["first", "line 0", "line 1", "last", dropped]
