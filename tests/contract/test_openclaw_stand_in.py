"""The stand-in gateway says nothing that the real one does not say."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

from betcode.agents.openclaw.frames import connect_params
from support.apis.openclaw.gateway import Gateway
from support.apis.openclaw.memory import script
from support.apis.openclaw.process import TOKEN, free_port
from support.recordings.openclaw import RECORDINGS, frames

pytestmark = pytest.mark.anyio
Json = dict[str, Any]
_NOT_RECORDED = {"contextTokens"}  # was cut out of the recordings' larger rows, or not there in each of them


def _shapes(said: Iterator[tuple[str, Json]]) -> dict[str, set[str]]:
    """The names of fields, by what a frame is."""
    found: dict[str, set[str]] = {}

    def note(what: str, value: Json) -> None:
        found.setdefault(what, set()).update(value)

    methods: dict[str, str] = {}
    for way, frame in said:
        if way == "in":
            methods[frame["id"]] = frame["method"]
        elif frame["type"] == "res":
            method = methods[frame["id"]]
            payload = frame.get("payload")
            note(f"answer {method}", payload if isinstance(payload, dict) else {})
            note(f"refusal {frame.get('error', {}).get('code')}", frame.get("error", {}))
        else:
            payload = frame["payload"]
            note(frame["event"], payload)
            if frame["event"] == "agent":
                data = payload["data"]
                note(f"agent {payload['stream']} {data.get('phase')}", data)
            if frame["event"] == "exec.approval.requested":
                note("approval", payload["request"])
            if frame["event"] == "session.message":
                note(f"message {payload['message']['role']}", payload["message"])
    return found


async def test_its_frames_have_the_fields_that_were_recorded(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path / "memory.json", TOKEN, starting=1)
    port = free_port()
    said: list[tuple[str, Json]] = []
    async with serve(gateway.serve, "127.0.0.1", port), asyncio.timeout(60):
        await _scene(f"ws://127.0.0.1:{port}", "wrong", said, tmp_path)
        await _scene(f"ws://127.0.0.1:{port}", "wrong", said, tmp_path)
        await _scene(f"ws://127.0.0.1:{port}", TOKEN, said, tmp_path)
    recorded = _shapes(pair for path in RECORDINGS for pair in frames(path))
    for what, fields in _shapes(iter(said)).items():
        assert what in recorded, what
        assert fields - recorded[what] <= _NOT_RECORDED, what


async def _scene(url: str, token: str, said: list[tuple[str, Json]], cwd: Path) -> None:
    """A conversation in which all that it can say is said."""
    async with connect(url) as socket:
        number = 0

        async def call(method: str, **params: Any) -> Json:
            nonlocal number
            number += 1
            frame = {"type": "req", "id": f"{len(said)}", "method": method, "params": params}
            said.append(("in", frame))
            await socket.send(json.dumps(frame))
            return await until(lambda each: each.get("id") == frame["id"])

        async def until(wanted: Any) -> Json:
            while True:
                said.append(("out", json.loads(await socket.recv())))
                if wanted(said[-1][1]):
                    return said[-1][1]

        await until(lambda each: each.get("event") == "connect.challenge")
        if not (await call("connect", **connect_params(token, "0", "linux")))["ok"]:
            return
        key = (await call("sessions.create", cwd=str(cwd), permissionMode="guarded"))["payload"]["key"]
        await call("sessions.messages.subscribe", key=key, includeApprovals=True)
        steps = ({"text": "Trying.", "cmd": "true"}, {"text": "Done."})
        await call("chat.send", sessionKey=key, message=script(*steps), idempotencyKey="m-1")
        asked = await until(lambda each: each.get("event") == "exec.approval.requested")
        await call("exec.approval.resolve", id=asked["payload"]["id"], decision="allow-once")
        await until(lambda each: each.get("event") == "chat" and each["payload"]["state"] == "final")
        await call("chat.send", sessionKey=key, message=script({"error": "no"}), idempotencyKey="m-2")
        await until(lambda each: each.get("event") == "chat" and each["payload"]["state"] == "error")
        await call("chat.send", sessionKey=key, message=script({"wait": str(cwd / "never")}), idempotencyKey="m-3")
        await until(lambda each: each.get("event") == "agent")
        await call("chat.abort", sessionKey=key, runId="m-3")
        await call("chat.history", sessionKey=key)
        await call("sessions.describe", key=key)
