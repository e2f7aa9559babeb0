"""How long a client in the middle of a turn hears nothing while the daemon is restarted."""

import os
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.to_thread

from bench.figure import Effort, Figure, median
from bench.stage import BOUND_S, running_daemon
from betcode.client import Client, open_client
from betcode.config.paths import Paths

_RATE = 200.0  # lines a second that the agent writes
_BEFORE = 200  # of them are heard before the restart
_AFTER = 200


async def measure(effort: Effort) -> list[Figure]:
    quiet: list[float] = []
    gaps: list[float] = []
    runs = effort.runs + 2
    for run in range(runs):
        effort.progress(f"run {run + 1} of {runs}")
        before_s, gap_s = await _gap(effort.root / f"run-{run}")
        quiet.append(before_s)
        gaps.append(gap_s)
    baseline = "the longest pause before the restart"
    name = "restart in the middle of a turn, gap seen by a client"
    return [Figure(name, baseline, median(quiet) * 1e3, median(gaps) * 1e3, 1_000, "ms")]


async def _gap(state_dir: Path) -> tuple[float, float]:
    """The longest pauses between two events: undisturbed, and with a restart in between."""
    async with running_daemon(state_dir) as daemon, open_client(daemon.paths) as client:
        session = await daemon.flood_session(100_000, rate=_RATE)
        await client.send(session, "begin")
        try:
            with anyio.fail_after(BOUND_S):
                return await _listen(client, session, daemon.paths)
        finally:
            await _command(daemon.paths, "stop", "--agents")


async def _listen(client: Client, session: str, paths: Paths) -> tuple[float, float]:
    heard: list[float] = []
    pauses: list[float] = []
    restarted = anyio.Event()

    async def restart() -> None:
        await _command(paths, "restart")
        restarted.set()

    async with anyio.create_task_group() as tasks, aclosing(client.follow(session)) as events:
        async for event in events:
            if not event.text_delta.text:
                continue
            now = time.perf_counter()
            if heard:
                pauses.append(now - heard[-1])
            heard.append(now)
            if len(heard) == _BEFORE:
                tasks.start_soon(restart)
            if restarted.is_set() and len(heard) >= _BEFORE + _AFTER:
                break
    return max(pauses[_BEFORE // 4 : _BEFORE]), max(pauses[_BEFORE:])


async def _command(paths: Paths, *arguments: str) -> None:
    argv = [sys.executable, "-m", "betcode", "daemon", *arguments, "--state-dir", str(paths.state_dir)]
    argv += ["--config-dir", str(paths.config_dir), "--socket", str(paths.socket)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(paths.state_dir), "LANG": "C.UTF-8"}
    await anyio.run_process(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
