"""A real endpoint for OTLP over HTTP: what arrives is kept as it came, and decoded with the published messages."""

import gzip
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from support.patience import PATIENCE_S


@dataclass
class Receiver:
    """What has arrived so far."""

    port: int = 0
    bodies: list[tuple[str, bytes]] = field(default_factory=list)  # path and body, in order
    heads: list[Mapping[str, str]] = field(default_factory=list)
    status: int = 200
    location: str = ""  # where it sends those that it redirects
    release: threading.Event | None = None  # answers wait for it
    arrived: threading.Condition = field(default_factory=threading.Condition)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[Span]:
        requests = [ExportTraceServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/traces"]
        scopes = [scope for one in requests for part in one.resource_spans for scope in part.scope_spans]
        return [span for scope in scopes for span in scope.spans]

    @property
    def metrics(self) -> dict[str, Metric]:
        """The newest of each."""
        requests = [ExportMetricsServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/metrics"]
        scopes = [scope for one in requests for part in one.resource_metrics for scope in part.scope_metrics]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    @property
    def everything(self) -> bytes:
        return b"\n".join(body for _, body in self.bodies)

    def until(self, check: Callable[[], bool]) -> None:
        """Wait, within a bound, for something to have arrived."""
        with self.arrived:
            assert self.arrived.wait_for(check, PATIENCE_S), f"only {[path for path, _ in self.bodies]} arrived"

    def take(self, path: str, head: Mapping[str, str], body: bytes) -> None:
        with self.arrived:
            self.bodies.append((path, body))
            self.heads.append(head)
            self.arrived.notify_all()


@contextmanager
def receiver(*, hangs: bool = False) -> Iterator[Receiver]:
    """An endpoint that takes everything; one that hangs answers nobody before the block is left."""
    kept = Receiver(release=threading.Event() if hangs else None)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            kept.take(self.path, dict(self.headers), body)
            if kept.release is not None:
                kept.release.wait(PATIENCE_S)
            answer = ExportTraceServiceResponse() if self.path == "/v1/traces" else ExportMetricsServiceResponse()
            self.send_response(kept.status)
            if 300 <= kept.status < 400:
                self.send_header("Location", kept.location)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(answer.SerializeToString())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nobody needs it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    kept.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        if kept.release is not None:
            kept.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
