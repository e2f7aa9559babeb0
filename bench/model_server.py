"""An OpenAI-compatible API on loopback that answers every request with one word, at once."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        common = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "bench"}
        for choice in (
            {"index": 0, "delta": {"role": "assistant", "content": "done"}, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        ):
            self._say(json.dumps({**common, "choices": [choice]}))
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self._say(json.dumps({**common, "choices": [], "usage": usage}))
        self._say("[DONE]")
        self.close_connection = True

    def _say(self, text: str) -> None:
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def model_server() -> Iterator[str]:
    """Its base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
