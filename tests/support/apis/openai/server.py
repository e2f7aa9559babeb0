"""A scripted stand-in for an OpenAI-compatible API on loopback: Responses, Chat Completions and the list of models.

with openai_api() as api:
    ...  # base_url = api.base_url; the prompt: "Hello " + script({"text": "Hello, too."})
"""

import itertools
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from support.apis.openai.script import Json, Step, script, step_of
from support.apis.openai.streams import Cut, Event, Pause, chat, responses, whole_chat, whole_response
from support.patience import PATIENCE_S

__all__ = ["ApiRequest", "OpenAiApi", "openai_api", "script"]

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


@dataclass(slots=True)
class ApiRequest:
    """One call of the API; `hung_up` once its client went away before the answer's end."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Json
    step: Step
    hung_up: threading.Event = field(default_factory=threading.Event)


class OpenAiApi:
    """What was asked so far, and the gates of answers that hang; may be used from any thread."""

    def __init__(self, server: "_Server") -> None:
        self._server = server

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def requests(self) -> list[ApiRequest]:
        with self._server.changed:
            return list(self._server.requests)

    def release(self, name: str = "") -> None:
        """Let every answer go on that hangs under this name, now and later."""
        self._server.gate(name).set()

    def wait_until(self, wanted: Callable[[list[ApiRequest]], bool], timeout_s: float = PATIENCE_S) -> None:
        """Until the requests are as wanted; blocks, so call it from a worker thread in async tests."""
        with self._server.changed:
            assert self._server.changed.wait_for(lambda: wanted(self._server.requests), timeout_s), "never asked"

    def wait_for_requests(self, number: int, timeout_s: float = PATIENCE_S) -> None:
        self.wait_until(lambda requests: len(requests) >= number, timeout_s)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[ApiRequest] = []
        self.changed = threading.Condition()
        self.closing = threading.Event()
        self.ids = itertools.count(1)
        self._gates: dict[str, threading.Event] = {}

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients hang up when a turn is interrupted or killed: nothing to report."""

    def gate(self, name: str) -> threading.Event:
        with self.changed:
            return self._gates.setdefault(name, threading.Event())

    def take(self, request: ApiRequest) -> int:
        """Note the request; how often its step was asked for by now."""
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()
            place = (request.step.script, request.step.number)
            return sum((each.step.script, each.step.number) == place for each in self.requests)


@contextmanager
def openai_api() -> Iterator[OpenAiApi]:
    """Serve until the block ends."""
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield OpenAiApi(server)
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _HungUp(Exception):
    pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _api(self) -> _Server:
        return cast("_Server", self.server)

    def log_message(self, *_arguments: object) -> None:
        """Tests assert on `requests`; stderr stays quiet."""

    def do_GET(self) -> None:
        if self.path.split("?")[0].endswith("/models"):
            model = {"id": "stand-in", "object": "model", "created": 1, "owned_by": "tests"}
            self._json(200, {"object": "list", "data": [model]})
        else:
            self._error(404, {})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0].removeprefix("/v1")
        if path not in ("/responses", "/chat/completions"):
            self._error(404, {})
            return
        body = json.loads(raw)
        request = ApiRequest(path, {k.lower(): v for k, v in self.headers.items()}, body, step_of(body))
        asked = self._api.take(request)
        try:
            self._answer(request, asked)
        except (_HungUp, BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            request.hung_up.set()

    def _answer(self, request: ApiRequest, asked: int) -> None:
        step = request.step
        if asked > step.data.get("times", asked):
            step = step.without_trouble()
        if "hold" in step.data:
            self._wait_for(step.data["hold"])
        if status := step.data.get("http"):
            self._error(status, step.data)
            return
        body, number = request.body, next(self._api.ids)
        calls, model = step.calls(body.get("tools") or ()), str(body.get("model", ""))
        is_chat = request.path == "/chat/completions"
        if not body.get("stream"):
            self._json(200, (whole_chat if is_chat else whole_response)(model, step, calls, number))
        elif is_chat:
            self._stream(step, chat(model, step, calls, number), "data: [DONE]\n\n")
        else:
            self._stream(step, responses(model, step, calls, number))

    def _stream(self, step: Step, events: Iterator[Event], last: str = "") -> None:
        self._stream_headers()
        for at, event in enumerate(events):
            match event:
                case Pause():
                    if "hang" in step.data:
                        self._wait_for(step.data["hang"])
                case Cut():
                    last = ""
                    if step.data["cut"] == "broken":
                        self.close_connection = True
                        with suppress(OSError):
                            self.connection.shutdown(socket.SHUT_RDWR)
                        return
                case {"type": kind}:
                    self._chunk(f"event: {kind}\ndata: {json.dumps({**event, 'sequence_number': at})}\n\n")
                case _:
                    self._chunk(f"data: {json.dumps(event)}\n\n")
            if delay_s := step.data.get("delay"):
                self._api.closing.wait(delay_s)
        if last:
            self._chunk(last)
        self.wfile.write(b"0\r\n\r\n")

    def _wait_for(self, name: object) -> None:
        """Until the gate opens or the client hangs up; a number is no name, so that recorded prompts hang as well."""
        gate = self._api.gate(name if isinstance(name, str) else "")
        until = time.monotonic() + PATIENCE_S
        while not gate.wait(0.02):
            if self._api.closing.is_set() or time.monotonic() > until:
                raise _HungUp
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise _HungUp

    # ---------------------------------------------------------------- HTTP

    def _error(self, status: int, said: Json) -> None:
        error: dict[str, Any] = {
            "message": said.get("message", f"scripted {status}"),
            "type": _KINDS.get(status, "server_error"),
            "code": said.get("code"),
            "param": None,
        }
        self._json(status, {"error": error}, {"retry-after-ms": "10"} if status == 429 else {})

    def _json(self, status: int, value: Json, headers: Mapping[str, str] | None = None) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _stream_headers(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _chunk(self, text: str) -> None:
        raw = text.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(raw), raw))
        self.wfile.flush()
