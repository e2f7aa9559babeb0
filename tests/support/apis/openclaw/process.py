"""A stand-in gateway in a directory of its own, which a test can kill and start again."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import anyio

from support.paths import TESTS
from support.patience import PATIENCE_S

TOKEN = "the-token-of-the-stand-in-gateway"


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def openclaw_program(directory: Path) -> Path:
    """An executable file that is the stand-in, to be used as `openclaw`."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "openclaw"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={TESTS} exec {sys.executable} -B -m support.apis.openclaw.gateway "$@"\n'
    )
    program.chmod(0o755)
    return program


class StandIn:
    """One state directory and, after `start`, the gateway that works on it."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"ws://127.0.0.1:{self.port}"
        self.token_file = root / "token"
        self.token_file.write_text(TOKEN + "\n")
        self._config = root / "openclaw.json"
        auth = {"mode": "token", "token": TOKEN}
        self._config.write_text(json.dumps({"gateway": {"port": self.port, "auth": auth}}))
        self._state = root / "state"
        self._errors = root / "stderr"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, starting: int = 0) -> None:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(TESTS), "OPENCLAW_CONFIG_PATH": str(self._config)}
        env |= {"OPENCLAW_STATE_DIR": str(self._state), "STAND_IN_STARTING": str(starting)}
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-m", "support.apis.openclaw.gateway", "gateway"], env=env, stderr=errors
            )

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    async def serves(self) -> None:
        """Return when it takes connections."""
        with anyio.fail_after(PATIENCE_S):
            while True:
                try:
                    stream = await anyio.connect_tcp("127.0.0.1", self.port)
                except OSError:
                    await anyio.sleep(0.02)
                else:
                    await stream.aclose()
                    return

    def key_of(self, words: str) -> str:
        """Of the session in which this was said."""
        return next(key for key, each in self._memory().items() if words in json.dumps(each["messages"]))

    def status_of(self, key: str) -> str:
        return str(self._memory()[key]["status"])

    def _memory(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._state / "memory.json").read_text())
        return found

    @property
    def errors(self) -> str:
        return self._errors.read_text() if self._errors.exists() else ""
