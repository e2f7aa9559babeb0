"""How long it takes until a holder holds an agent, which is part of every turn that finds none running."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from bench.figure import Effort, Figure, median
from betcode.holder.launch import HolderSpec, end_leftovers, start_holder

_AGENT = ("/bin/cat",)  # waits for input and does nothing else
_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


async def measure(effort: Effort) -> list[Figure]:
    return await anyio.to_thread.run_sync(_measure, effort)


def _measure(effort: Effort) -> list[Figure]:
    bare: list[float] = []
    ours: list[float] = []
    for run in range(5 if effort.quick else 21):
        bare.append(_interpreter_ms())
        ours.append(_holder_ms(effort.root, f"bench-{effort.root.name}-{run}"))
    return [Figure("holder start", "python3 -I -S -c pass", median(bare), median(ours), 60, "ms")]


def _interpreter_ms() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-X", "utf8", "-c", "pass"], check=True)
    return (time.perf_counter() - began) * 1e3


def _holder_ms(root: Path, marker: str) -> float:
    """From nothing to a socket that answers, the agent started."""
    spec = HolderSpec(run_dir=root / marker, argv=_AGENT, env=_ENVIRONMENT, cwd=root, marker=marker)
    began = time.perf_counter()
    holder = start_holder(spec)
    took_s = time.perf_counter() - began
    with suppress(ProcessLookupError):
        os.kill(holder, signal.SIGKILL)
    end_leftovers(marker, 0, 0, grace_s=0)
    return took_s * 1e3
