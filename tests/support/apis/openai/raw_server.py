"""A server that answers every request with bytes that a test wrote, however wrong they are."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

_STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


@dataclass
class RawApi:
    base_url: str
    answers: list[bytes]  # the last one stays
    asked: list[dict[str, str]] = field(default_factory=list)  # the headers of each request, by names in lower case


def streamed(body: bytes) -> bytes:
    """The answer whose body is that stream; the end of the connection is its end."""
    return _STREAM + body


def sse(*data: str) -> bytes:
    return b"".join(b"data: %b\n\n" % each.encode() for each in data)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    api: RawApi


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        api = cast("_Server", self.server).api
        self.rfile.read(int(self.headers.get("content-length") or 0))
        api.asked.append({name.lower(): value for name, value in self.headers.items()})
        self.wfile.write(api.answers.pop(0) if len(api.answers) > 1 else api.answers[0])
        self.close_connection = True


@contextmanager
def raw_api(*answers: bytes) -> Iterator[RawApi]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.api = RawApi(f"http://127.0.0.1:{server.server_address[1]}/v1", list(answers))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
