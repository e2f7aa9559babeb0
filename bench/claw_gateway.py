"""The tests' stand-in for an OpenClaw gateway, as a process of its own."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.stage import BOUND_S

SAYS_A_WORD = 'Say it [[ [{"text": "word"}] ]]'  # what has it do so
_TESTS = Path(__file__).parents[1] / "tests"
_LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Gateway:
    url: str
    token_file: Path


@contextmanager
def gateway(root: Path) -> Iterator[Gateway]:
    """One that takes connections, and ends with the block."""
    root.mkdir()
    port, token = _free_port(), secrets.token_hex()
    token_file, config = root / "token", root / "openclaw.json"
    token_file.write_text(token)
    config.write_text(json.dumps({"gateway": {"port": port, "auth": {"mode": "token", "token": token}}}))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(_TESTS), "OPENCLAW_CONFIG_PATH": str(config)}
    env["OPENCLAW_STATE_DIR"] = str(root / "state")
    with subprocess.Popen([sys.executable, "-m", "support.apis.openclaw.gateway", "gateway"], env=env) as process:
        try:
            _wait_for(port)
            yield Gateway(f"ws://127.0.0.1:{port}", token_file)
        finally:
            process.kill()


def _free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int) -> None:
    until = time.monotonic() + BOUND_S
    while time.monotonic() < until:
        with closing(socket.socket()) as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(_LOOK_EVERY_S)
    raise RuntimeError("the gateway does not take connections")
