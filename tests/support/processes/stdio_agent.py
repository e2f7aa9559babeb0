"""An agent program on pipes, driven line by line: no daemon, no holder."""

import json
import os
import select
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.patience import PATIENCE_S

Frame = dict[str, Any]


class StdioAgent:
    """Sends frames and reads frames, each wait bounded."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._rest = b""
        self._lines: list[bytes] = []
        self.longest_line = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, frame: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(frame).encode() + b"\n")
        self._process.stdin.flush()

    def say(self, text: str, message_id: str = "") -> str:
        """Send a user message; its uuid."""
        message_id = message_id or str(uuid.uuid4())
        self.send({"type": "user", "message": {"role": "user", "content": text}, "uuid": message_id})
        return message_id

    def answer(self, request: Mapping[str, Any], *, allow: bool, **more: Any) -> None:
        """Answer a can_use_tool request."""
        verdict: Frame = {"behavior": "allow", "updatedInput": request["request"]["input"]}
        if not allow:
            verdict = {"behavior": "deny", "message": "no"}
        response = {"subtype": "success", "request_id": request["request_id"], "response": {**verdict, **more}}
        self.send({"type": "control_response", "response": response})

    def interrupt(self, **more: Any) -> None:
        request = {"subtype": "interrupt", **more}
        self.send({"type": "control_request", "request_id": "interrupt-1", "request": request})

    def close_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def until(self, wanted: Callable[[Frame], bool] | str, timeout_s: float = PATIENCE_S) -> list[Frame]:
        """The frames up to and with the first that is wanted (a type, or what a function says)."""
        frames: list[Frame] = []
        deadline = time.monotonic() + timeout_s
        while True:
            frame = self._next(deadline)
            assert frame is not None, f"stdout ended before {wanted}; after {frames}"
            frames.append(frame)
            if frame.get("type") == wanted if isinstance(wanted, str) else wanted(frame):
                return frames

    def rest(self, timeout_s: float = PATIENCE_S) -> list[Frame]:
        """Everything up to the end of stdout."""
        frames: list[Frame] = []
        deadline = time.monotonic() + timeout_s
        while (frame := self._next(deadline)) is not None:
            frames.append(frame)
        return frames

    def wait(self, timeout_s: float = PATIENCE_S) -> int:
        return self._process.wait(timeout_s)

    def _next(self, deadline: float) -> Frame | None:
        assert self._process.stdout is not None
        while not self._lines:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._process.stdout], [], [], max(left, 0))
            assert ready, "the agent said nothing more in time"
            chunk = os.read(self._process.stdout.fileno(), 1 << 20)
            if not chunk:
                return None
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._lines += lines
        line = self._lines.pop(0)
        self.longest_line = max(self.longest_line, len(line))
        frame: Frame = json.loads(line)
        return frame


@contextmanager
def spawn_agent(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> Iterator[StdioAgent]:
    """Start it; it is gone when the block ends."""
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(env), cwd=cwd
    )
    try:
        yield StdioAgent(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None and not stream.closed:
                with suppress(BrokenPipeError):
                    stream.close()
