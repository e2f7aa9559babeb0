"""What the stand-in gateway keeps, and the scripts that tests write for it."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
_USAGE = {"input": 800, "output": 50, "totalTokens": 1050, "cacheRead": 200, "cacheWrite": 0}
_COST = {"input": 0.0008, "output": 0.0001, "cacheRead": 2e-05, "cacheWrite": 0, "total": 0.00092}


def script(*steps: Json, words: str = "Do it") -> str:
    return f"{words} [[ {json.dumps(list(steps))} ]]"


@dataclass
class Run:
    run_id: str
    seq: int = 0
    step: int = 0
    task: "asyncio.Task[None] | None" = None
    process: "asyncio.subprocess.Process | None" = None
    flight: list[Json] = field(default_factory=list)


@dataclass
class Session:
    key: str
    cwd: str
    mode: str
    model: str
    messages: list[Json] = field(default_factory=list)
    status: str = "done"
    last_run: str = ""
    last_error: str = ""
    aborted: bool = False
    broken: str = ""  # the script of a run that is under way
    step: int = 0  # and how far it has got
    run: Run | None = None

    def kept(self) -> Json:
        names = (
            "key",
            "cwd",
            "mode",
            "model",
            "messages",
            "status",
            "last_run",
            "last_error",
            "aborted",
            "broken",
            "step",
        )
        return {name: getattr(self, name) for name in names}


def user(run_id: str, text: str) -> Json:
    return {"role": "user", "content": text, "timestamp": now(), "idempotencyKey": f"{run_id}:user"}


def assistant(run_id: str, content: list[Json], stop: str) -> Json:
    usage = {**_USAGE, "cost": _COST}
    made = {"role": "assistant", "content": content, "provider": "lab", "model": "fake-model", "usage": usage}
    return made | {"stopReason": stop, "timestamp": now(), "__openclaw": {"runId": run_id}}


def now() -> int:
    return int(time.time() * 1000)
