"""Plays recorded answers of an OpenAI-compatible API back over HTTP, one for each request, in their order."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from support.paths import CONTRACT

RECORDINGS = CONTRACT / "wire" / "openai"


@dataclass
class Exchange:
    """One request as it was recorded, and its answer."""

    path: str
    body: dict[str, Any]
    status: int = 0
    content_type: str = ""
    lines: list[str] = field(default_factory=list)


def exchanges_of(path: Path) -> list[Exchange]:
    exchanges: list[Exchange] = []
    for row in map(json.loads, path.read_text().splitlines()):
        line: str = row["line"]
        if row["dir"] == "in" and line.startswith("POST "):
            exchanges.append(Exchange(line.split()[1], {}))
        elif row["dir"] == "in":
            exchanges[-1].body = json.loads(line)
        elif row["dir"] == "out" and not exchanges[-1].status:
            _, status, exchanges[-1].content_type = line.split(" ", 2)
            exchanges[-1].status = int(status)
        elif row["dir"] == "out":
            exchanges[-1].lines.append(line)
    return exchanges


class _Server(ThreadingHTTPServer):
    def __init__(self, exchanges: list[Exchange]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.exchanges = iter(exchanges)
        self.bodies: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        server = cast("_Server", self.server)
        server.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        exchange = next(server.exchanges)
        self.send_response(exchange.status)
        self.send_header("content-type", exchange.content_type)
        self.end_headers()  # and the end of the connection is the end of the body
        # The recorder left out the empty lines that end an event.
        ends = "\n" if exchange.content_type == "text/event-stream" else ""
        for line in exchange.lines:
            self.wfile.write(f"{line}\n{'' if line.startswith('event:') else ends}".encode())


@contextmanager
def playback(exchanges: list[Exchange]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The base URL, and the bodies that were sent to it so far."""
    server = _Server(exchanges)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", server.bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
