"""The server that does nothing, as a process: what a daemon's streams, start and memory are compared with."""

import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.stage import resident_bytes, serving


@dataclass(frozen=True, slots=True)
class Empty:
    start_s: float
    resident_bytes: int


@asynccontextmanager
async def empty_server(root: Path, count: int, size_bytes: int) -> AsyncIterator[str]:
    """Its address."""
    async with _running(root, count, size_bytes) as (_, address):
        yield address


async def empty_facts(root: Path) -> Empty:
    """What a grpc.aio server alone takes to start, and holds in memory."""
    began = time.perf_counter()
    async with _running(root, 1, 1) as (process, _):
        return Empty(time.perf_counter() - began, resident_bytes(process.pid))


@asynccontextmanager
async def _running(root: Path, count: int, size_bytes: int) -> AsyncIterator[tuple[subprocess.Popen[bytes], str]]:
    root.mkdir(parents=True, exist_ok=True)
    socket = root / "empty.sock"
    socket.unlink(missing_ok=True)
    argv = [sys.executable, "-m", "bench.empty_server", str(socket), str(count), str(size_bytes)]
    # Like the daemon in a session of its own: the kernel shares the processor out among sessions first.
    process = subprocess.Popen(argv, start_new_session=True)  # noqa: ASYNC220 - nobody else is waiting
    try:
        await serving(socket, process)
        yield process, f"unix:{socket}"
    finally:
        process.kill()
        process.wait()
