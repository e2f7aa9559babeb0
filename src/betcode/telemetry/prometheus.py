"""Serve metrics for Prometheus over HTTP on a loopback port, in its own threads."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from socket import AF_INET, AF_INET6, socket
from socketserver import TCPServer
from typing import assert_never

from prometheus_client.core import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import (
    Metric as Family,
)
from prometheus_client.exposition import choose_encoder

from betcode.domain.metrics.counts import Distribution
from betcode.telemetry.metrics import METRICS, Metric, MetricKind, Readings

logger = logging.getLogger(__name__)

PATH = "/metrics"
_CLIENT_TIMEOUT_S = 10.0
_CONNECTIONS = 16  # at once; a scraper needs one


class PortTaken(Exception):
    """The port is not available; the message is one sentence."""


def families(readings: Readings) -> Iterator[Family]:
    """Return the readings as Prometheus metric families."""
    for metric in METRICS:
        yield _family(metric, readings)


def _family(metric: Metric, readings: Readings) -> Family:
    labels = [metric.label] if metric.label else []
    match metric.kind:
        case MetricKind.COUNTER:
            counter = CounterMetricFamily(metric.name, metric.help, labels=labels)
            for label, value in metric.read(readings):
                assert not isinstance(value, Distribution)
                counter.add_metric([label] if labels else [], value)
            return counter
        case MetricKind.GAUGE:
            gauge = GaugeMetricFamily(metric.name, metric.help, labels=labels)
            for label, value in metric.read(readings):
                assert not isinstance(value, Distribution)
                gauge.add_metric([label] if labels else [], value)
            return gauge
        case MetricKind.HISTOGRAM:
            histogram = HistogramMetricFamily(metric.name, metric.help, labels=labels)
            for label, value in metric.read(readings):
                assert isinstance(value, Distribution)
                bounds = [*(f"{bound:g}" for bound in value.bounds), "+Inf"]
                buckets = [(bound, float(n)) for bound, n in zip(bounds, accumulate(value.buckets), strict=True)]
                histogram.add_metric([label] if labels else [], buckets, value.total)
            return histogram
        case _:
            assert_never(metric.kind)


class _Collected:
    """The collector that `CollectorRegistry` calls for the current readings."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Family]:
        return families(self._readings)


def exposed(readings: Readings, accept: str = "") -> tuple[bytes, str]:
    """The text that is scraped and its content type; the format is the best that the scraper understands."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(readings))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: str, port: int, read: Callable[[], Readings]) -> None:
        self.address_family = AF_INET6 if ":" in address else AF_INET
        self.read = read
        self._free = threading.BoundedSemaphore(_CONNECTIONS)
        super().__init__((address, port), _Handler)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # the one between would ask the network for this machine's name

    def process_request(self, request: "socket | tuple[bytes, socket]", client_address: object) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: "socket | tuple[bytes, socket]", client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """Ignore a scraper that disconnected."""
        logger.debug("a scraper was not answered")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _CLIENT_TIMEOUT_S
    server_version = "betcode"
    sys_version = ""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != PATH:
            self.send_error(404, f"there is only {PATH}")
            return
        try:
            text, content_type = exposed(self.server.read(), self.headers.get("Accept", ""))
        except Exception:
            logger.exception("the metrics could not be read")
            self.send_error(503, "the daemon is busy")
            return
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name of the standard library
        logger.debug(format, *args)


@contextmanager
def served(address: str, port: int, read: Callable[[], Readings]) -> Iterator[int]:
    """Serve until the block ends; yields the port. `read` is called in the server's threads.

    Raises:
        PortTaken: the port is not available.
    """
    try:
        server = _Server(address, port, read)
    except OSError as trouble:
        why = trouble.strerror or str(trouble)
        raise PortTaken(f"The metrics cannot be served at {address} port {port}: {why}") from trouble
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        with suppress(OSError):
            server.socket.close()
