"""A real HTTP server that webhooks are posted to."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Posted:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Hook:
    """Answers with the given statuses, one after the other, and then with 204."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    posted: list[Posted] = field(default_factory=list)


@contextmanager
def hook_server(*statuses: int) -> Iterator[Hook]:
    hook = Hook(statuses=list(statuses))

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = hook.statuses.pop(0) if hook.statuses else 204
            hook.posted.append(Posted(self.path, dict(self.headers), body))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{hook.url}/elsewhere")
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
