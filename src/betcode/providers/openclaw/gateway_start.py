"""Starts a gateway in the background; it outlives the daemon's runs."""

import logging
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from betcode.proc import run_blocking

logger = logging.getLogger(__name__)

_WITHIN_S = 60.0
TROUBLE = "gateway.trouble"  # where the program says why it cannot be; see betcode.agents.openclaw.paths


class GatewayStarter:
    """Runs `betcode.agents.openclaw.start`, which starts a gateway unless one is there."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "openclaw gateway")

    def ensure(self, state_dir: Path, program: str, port: int, environment: Mapping[str, str]) -> None:
        """Return at once; whoever needs the gateway waits for it."""
        with suppress(OSError):
            (state_dir / TROUBLE).unlink()
        argv = [sys.executable, "-I", "-m", "betcode.agents.openclaw.start", f"--state-dir={state_dir}"]
        argv += [f"--program={program}", f"--port={port}"]
        env = dict(environment)
        if "INVOCATION_ID" in os.environ:  # it is the daemon's unit that would take the gateway along
            names = ("INVOCATION_ID", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
            env |= {name: os.environ[name] for name in names if name in os.environ}
        self._thread.submit(self._run, argv, env)

    def _run(self, argv: list[str], environment: Mapping[str, str]) -> None:
        try:
            done = run_blocking(argv, environment, limit_s=_WITHIN_S)
        except (OSError, ValueError) as trouble:
            logger.warning("the OpenClaw gateway could not be started: %s", trouble)
            return
        if done.code != 0:
            words = done.err.decode(errors="replace").strip()[-500:] or f"no end within {_WITHIN_S:g} s"
            logger.warning("the OpenClaw gateway could not be started: %s", words)
