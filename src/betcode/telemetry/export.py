"""Export traces and metrics: off by default, and without delaying the daemon.

The event loop only puts finished turns into a bounded queue and answers when it is asked for readings; everything that
may be slow or fail is in threads. Nothing of OpenTelemetry or Prometheus is imported before it is turned on.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as NotInTime
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from betcode.domain.metrics.counts import Counts
from betcode.domain.metrics.turn_trace import TraceSink, TurnTrace
from betcode.telemetry import log_context
from betcode.telemetry.metrics import SIGNALS, Gauges, Readings
from betcode.util.extras import OTEL, missing_extra

if TYPE_CHECKING:
    from betcode.telemetry.otlp import Otlp

logger = logging.getLogger(__name__)

QUEUE_LIMIT = 128  # turns
READ_WITHIN_S = 2.0  # the loop answers within this, or there is no reading this time
STOP_WITHIN_S = 2.0


async def _no_gauges() -> Gauges:
    return Gauges()


class Telemetry:
    """The exports of the daemon and their destinations; made by `open_telemetry`."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.metrics_port = 0  # 0: not served
        self.trouble_serving = ""
        self.missing_packages = ""  # a sentence with the command that installs them
        self.otlp: OtlpThread | None = None
        self._gauges: Callable[[], Awaitable[Gauges]] = _no_gauges
        self._loop = asyncio.get_running_loop()

    @property
    def traces(self) -> TraceSink | None:
        """Return the sink of finished turns; None if traces are disabled."""
        return self.otlp

    @property
    def troubles(self) -> tuple[str, ...]:
        """Return the current problems, one sentence each."""
        sending = "" if self.otlp is None else self.otlp.trouble
        return tuple(filter(None, (self.missing_packages, self.trouble_serving, sending)))

    def watch(self, gauges: Callable[[], Awaitable[Gauges]]) -> None:
        """Set the function that reads the metrics, on the event loop."""
        self._gauges = gauges

    def read(self) -> Readings:
        """From another thread: how everything is now.

        Raises:
            TimeoutError: the loop does not answer.
        """
        try:
            return asyncio.run_coroutine_threadsafe(self._read(), self._loop).result(READ_WITHIN_S)
        except (NotInTime, CancelledError, RuntimeError) as error:
            raise TimeoutError("the daemon does not answer") from error

    async def _read(self) -> Readings:
        return Readings(self.counts, await self._gauges(), {} if self.otlp is None else dict(self.otlp.dropped))


class OtlpThread:
    """Sends batches periodically; what an endpoint does not accept is dropped and counted."""

    def __init__(self, endpoint: str, version: str, every_s: float, read: Callable[[], Readings]) -> None:
        self.dropped = dict.fromkeys(SIGNALS, 0)
        self.trouble = ""
        self._endpoint = endpoint
        self._version = version
        self._every_s = every_s
        self._read = read
        self._turns: deque[TurnTrace] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._otlp: Otlp | None = None
        self._thread = threading.Thread(target=self._run, name="otlp", daemon=True)
        self._thread.start()

    def turn_over(self, trace: TurnTrace) -> None:
        if len(self._turns) >= QUEUE_LIMIT:
            self.dropped["traces"] += 1
            return
        self._turns.append(trace)
        if len(self._turns) == QUEUE_LIMIT // 2:
            self._wake.set()

    def stop(self) -> None:
        """Send the rest if that is possible soon, and stop. Call it from another thread than the loop's."""
        self._stopping = True
        self._wake.set()
        deadline = time.monotonic() + STOP_WITHIN_S
        self._thread.join(STOP_WITHIN_S / 2)
        if self._thread.is_alive() and self._otlp is not None:
            self._otlp.hurry()
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        log_context.begin("telemetry")
        try:
            from betcode.telemetry.otlp import Otlp

            self._otlp = Otlp(self._endpoint, self._version)
            while not self._stopping:
                self._wake.wait(self._every_s)
                self._wake.clear()
                self._send(self._otlp)
        except Exception:
            logger.exception("telemetry export has stopped")
            self.trouble = "Telemetry export has stopped: see the log"

    def _send(self, otlp: "Otlp") -> None:
        turns = [self._turns.popleft() for _ in range(len(self._turns))]
        if turns:
            taken = otlp.send_turns(turns)
            self.dropped["traces"] += 0 if taken else len(turns)
            self._note(otlp)
        try:
            readings = self._read()
        except TimeoutError:
            self.dropped["metrics"] += 1
            return
        taken = otlp.send_readings(readings)
        self.dropped["metrics"] += 0 if taken else 1
        self._note(otlp)

    def _note(self, otlp: "Otlp") -> None:
        """Log once that the endpoint accepts nothing, and once that it does again."""
        if otlp.trouble and not self.trouble:
            logger.warning("telemetry is not accepted by %s: %s", self._endpoint, otlp.trouble)
        elif self.trouble and not otlp.trouble:
            logger.info("telemetry is accepted again by %s", self._endpoint, extra={"dropped": dict(self.dropped)})
        self.trouble = f"Telemetry is not accepted by {self._endpoint}: {otlp.trouble}" if otlp.trouble else ""


@asynccontextmanager
async def open_telemetry(
    counts: Counts,
    version: str,
    *,
    otlp_endpoint: str = "",
    every_s: float = 10.0,
    metrics_at: tuple[str, int] | None = None,
) -> AsyncIterator[Telemetry]:
    """Export the requested signals until the block ends; with neither, there is no thread, socket or import."""
    telemetry = Telemetry(counts)
    if metrics_at is not None or otlp_endpoint:
        telemetry.missing_packages = missing_extra(OTEL)
    if telemetry.missing_packages:
        logger.error("%s; the daemon exports none", telemetry.missing_packages)
        yield telemetry
        return
    with ExitStack() as stack:
        if metrics_at is not None:
            await _serve_metrics(telemetry, stack, *metrics_at)
        if otlp_endpoint:
            telemetry.otlp = OtlpThread(otlp_endpoint, version, every_s, telemetry.read)
            logger.info("telemetry is sent by OTLP", extra={"endpoint": otlp_endpoint})
        try:
            yield telemetry
        finally:
            if telemetry.otlp is not None:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(telemetry.otlp.stop)


async def _serve_metrics(telemetry: Telemetry, stack: ExitStack, address: str, port: int) -> None:
    from betcode.telemetry import prometheus

    try:
        telemetry.metrics_port = stack.enter_context(prometheus.served(address, port, telemetry.read))
    except prometheus.PortTaken as taken:
        telemetry.trouble_serving = str(taken)
        logger.error("%s; the daemon continues without them", taken)
    else:
        facts = {"address": address, "port": telemetry.metrics_port}
        logger.info("metrics are served for Prometheus", extra=facts)
