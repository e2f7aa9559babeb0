"""Requests to stop the daemon or to reload its settings: signals, a failed store, a person by a call."""

import asyncio
import faulthandler
import logging
import signal

import anyio

from betcode.engine import AgentShutdownPolicy, ShutdownReport
from betcode.util.signal import ResettableEvent
from betcode.util.start_signals import HELD, START_SIGNALS

logger = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_CANNOT_SERVE = 1
STOP_BOUND_S = 10.0  # from the request to the end of the process


class Stop:
    """The daemon's end: who asked for it and with which exit code. From then on the process has 10 seconds."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.exit_code = EXIT_OK
        self.agents = AgentShutdownPolicy.IDLE_END
        self.renewal = ResettableEvent()  # the settings should be read again
        self._parting: asyncio.Future[ShutdownReport] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()

    async def ask_and_wait(self, agents: AgentShutdownPolicy) -> ShutdownReport:
        """Begin to stop; returns when the agents have been dealt with. Whoever asked first has decided how."""
        if not self.asked.is_set():
            self.agents = agents
            self.ask(EXIT_OK)
        return await asyncio.shield(self._parting)

    def parted(self, parting: ShutdownReport) -> None:
        """Tell those who wait what became of the agents."""
        self._parting.set_result(parting)

    def on_fatal(self, error: BaseException) -> None:
        """Stop, because the log cannot be written, so nothing may be shown. May be called from any thread."""
        logger.critical("the database has failed; the daemon ends: %s", error, exc_info=error)
        self._loop.call_soon_threadsafe(self.ask, EXIT_CANNOT_SERVE)

    def ask(self, exit_code: int) -> None:
        """Begin to stop."""
        if self.asked.is_set():
            return
        self.exit_code = exit_code
        # Whatever hangs, the process ends; the log then shows where it hung.
        faulthandler.dump_traceback_later(STOP_BOUND_S, exit=True, file=2)
        self.asked.set()

    def in_time(self) -> None:
        """Everything is closed."""
        faulthandler.cancel_dump_traceback_later()


async def on_signals(stop: Stop) -> None:
    """SIGTERM and SIGINT stop the daemon; SIGHUP has it read its settings again."""
    with anyio.open_signal_receiver(*HELD) as signals:
        for number in START_SIGNALS.take():
            _obey(stop, number)
        async for number in signals:
            _obey(stop, number)


def _obey(stop: Stop, number: signal.Signals) -> None:
    if number == signal.SIGHUP:
        # Also sent by a terminal that closes, and then it does no harm.
        stop.renewal.set()
        return
    logger.info("stopping", extra={"signal": number.name})
    stop.ask(EXIT_OK)
