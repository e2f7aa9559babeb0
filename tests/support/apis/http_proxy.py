"""A real HTTP proxy: passes plain requests on, and refuses tunnels after it has read where they are to lead."""

import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_NOT_PASSED_ON = frozenset({"host", "connection", "proxy-connection", "content-length", "proxy-authorization"})


@dataclass(slots=True)
class Proxy:
    url: str = ""
    lines: list[str] = field(default_factory=list)  # method and target of every request
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def http_proxy() -> Iterator[Proxy]:
    proxy = Proxy()
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            pass

        def _note(self) -> None:
            proxy.lines.append(f"{self.command} {self.path}")
            proxy.headers.append(dict(self.headers))

        def do_CONNECT(self) -> None:
            self._note()
            self.send_error(403)

        def do_POST(self) -> None:
            self._note()
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
            with direct.open(urllib.request.Request(self.path, body, headers)) as answer:
                self.send_response(answer.status)
                self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
