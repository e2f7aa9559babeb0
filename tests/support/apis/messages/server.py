"""A scripted stand-in for the Messages API on loopback, so that the real CLI runs without an account or a network."""

import itertools
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from support.apis.messages.script import Failure, Hang, Json, Place, Reply, Scripts, Text, Thinking, place_of, step_of
from support.patience import PATIENCE_S


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of the model."""

    place: Place
    model: str
    tools: tuple[str, ...]
    session: str
    user_agent: str
    api_version: str  # of the model's API, as the header anthropic-version says it
    messages: int  # the length of the conversation it was sent
    conversation: tuple[Json, ...]
    at_monotonic: float


class ModelApi:
    """What was asked so far; may be read from any thread."""

    def __init__(self, server: "_Server") -> None:
        self._server = server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[ModelRequest]:
        with self._server.changed:
            return list(self._server.requests)

    def calls(self, script: str) -> list[int]:
        """The steps of a script that were asked for, in order."""
        return [request.place.step for request in self.requests if request.place.script == script]

    def wait_for_calls(self, script: str, number: int, timeout_s: float = PATIENCE_S) -> None:
        """Until that many calls of the script have come in; blocks, so call it from a worker thread in async tests."""

        def enough() -> bool:
            return sum(request.place.script == script for request in self._server.requests) >= number

        with self._server.changed:
            assert self._server.changed.wait_for(enough, timeout_s), f"{script} was not called {number} times"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, scripts: Scripts) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripts = scripts
        self.requests: list[ModelRequest] = []
        self.changed = threading.Condition()
        self.closing = threading.Event()
        self.ids = itertools.count(1)

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients hang up when a turn is interrupted or killed: nothing to report."""

    def times(self, place: Place) -> int:
        with self.changed:
            return sum(request.place == place for request in self.requests)


@contextmanager
def model_api(scripts: Scripts) -> Iterator[ModelApi]:
    """Serve the scripts until the block ends."""
    server = _Server(scripts)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield ModelApi(server)
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _api(self) -> _Server:
        return cast("_Server", self.server)

    def log_message(self, *_arguments: object) -> None:
        """Tests assert on `requests`; stderr stays quiet."""

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        if self.path.startswith("/v1/models"):
            self._json(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})
        else:
            self._json(404, _error("not_found_error", self.path))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": max(1, len(raw) // 4)})
        elif path == "/v1/messages":
            with suppress(BrokenPipeError, ConnectionResetError):
                self._answer(json.loads(raw))
        else:
            self._json(404, _error("not_found_error", path))

    def _answer(self, body: Json) -> None:
        api, place = self._api, place_of(body.get("messages", []))
        with api.changed:
            api.requests.append(
                ModelRequest(
                    place=place,
                    model=str(body.get("model", "")),
                    tools=tuple(tool.get("name", "") for tool in body.get("tools") or ()),
                    session=self.headers.get("x-claude-code-session-id", ""),
                    user_agent=self.headers.get("user-agent", ""),
                    api_version=self.headers.get("anthropic-version", ""),
                    messages=len(body.get("messages", ())),
                    conversation=tuple(body.get("messages", ())),
                    at_monotonic=time.monotonic(),
                )
            )
            api.changed.notify_all()
        step = step_of(api.scripts, place)
        if isinstance(step, Failure):
            if step.times is None or api.times(place) <= step.times:
                self._json(step.status, _error(step.kind, step.message), step.headers)
                return
            assert step.then is not None
            step = step.then
        if isinstance(step, Hang):
            self._stream_headers()
            api.closing.wait(PATIENCE_S)
        elif body.get("stream"):
            self._stream(body, step)
        else:
            self._json(200, self._message(body, step))

    # ---------------------------------------------------------------- a message

    def _message(self, body: Json, step: Reply) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        for block in step.blocks:
            match block:
                case Text(text):
                    content.append({"type": "text", "text": text})
                case Thinking(thinking):
                    content.append({"type": "thinking", "thinking": thinking, "signature": "c2ln"})
                case _:
                    tool_id = f"toolu_scripted{next(self._api.ids):06d}"
                    content.append({"type": "tool_use", "id": tool_id, "name": block.name, "input": dict(block.input)})
        uses_tool = any(block["type"] == "tool_use" for block in content)
        return {
            "id": f"msg_scripted{next(self._api.ids):06d}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": content,
            "stop_sequence": None,
            "stop_reason": step.stop_reason or ("tool_use" if uses_tool else "end_turn"),
            "usage": _usage(step),
        }

    def _stream(self, body: Json, step: Reply) -> None:
        self._wait(step.first_delay_s)
        message = self._message(body, step)
        self._stream_headers()
        start = {**message, "content": [], "stop_reason": None, "usage": {**_usage(step), "output_tokens": 1}}
        self._event({"type": "message_start", "message": start})
        sent = 0
        for index, block in enumerate(message["content"]):
            empty, kind, field, payload = _as_deltas(block)
            self._event({"type": "content_block_start", "index": index, "content_block": empty})
            for at in range(0, max(len(payload), 1), step.chunk_characters):
                delta = {"type": kind, field: payload[at : at + step.chunk_characters]}
                self._event({"type": "content_block_delta", "index": index, "delta": delta})
                sent += 1
                if step.gate is not None and sent == step.gate_after_chunks:
                    assert step.gate.wait(PATIENCE_S), "nobody opened the gate"
                if sent == step.drop_after_chunks:
                    self.close_connection = True
                    self.connection.close()
                    return
                self._wait(step.chunk_delay_s)
            if kind == "thinking_delta":
                signature = {"type": "signature_delta", "signature": block["signature"]}
                self._event({"type": "content_block_delta", "index": index, "delta": signature})
            self._event({"type": "content_block_stop", "index": index})
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        self._event({"type": "message_delta", "delta": end, "usage": _usage(step)})
        self._event({"type": "message_stop"})
        self.wfile.write(b"0\r\n\r\n")

    def _wait(self, seconds: float) -> None:
        if seconds:
            self._api.closing.wait(seconds)

    # ---------------------------------------------------------------- HTTP

    def _json(self, status: int, value: Json, headers: Any = ()) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        for name, text in dict(headers).items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _stream_headers(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _event(self, data: Json) -> None:
        raw = f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(raw), raw))
        self.wfile.flush()


def _usage(step: Reply) -> dict[str, int]:
    read = {"input_tokens": step.input_tokens, "cache_read_input_tokens": step.cache_read_tokens}
    return {**read, "output_tokens": 20, "cache_creation_input_tokens": 0}


def _as_deltas(block: Json) -> tuple[Json, str, str, str]:
    """The empty block, and kind, field and whole text of its deltas."""
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}, "text_delta", "text", block["text"]
        case "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            return empty, "thinking_delta", "thinking", block["thinking"]
        case _:
            return {**block, "input": {}}, "input_json_delta", "partial_json", json.dumps(block["input"])


def _error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}
