"""A real daemon in a directory of its own, and the other processes that a figure needs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
import anyio.to_thread
import grpc
from grpc import aio

from betcode.client import Client, NewConversation, open_client
from betcode.config.paths import Paths, choose_paths
from betcode.holder.launch import holder_pids
from betcode.holder.platform import descendants, send_signal

BOUND_S = 60.0
_SERVING = b"\x08\x01"  # a HealthCheckResponse that says SERVING
_PLAIN = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


class Program:
    """A process of ours that prints a line of JSON whenever it has something to say."""

    def __init__(self, *argv: str, environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.resume()
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def says(self) -> dict[str, float]:
        """The next line."""
        assert self._process.stdout is not None
        with anyio.fail_after(BOUND_S):
            line = await anyio.to_thread.run_sync(self._process.stdout.readline, abandon_on_cancel=True)
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.wait()} before it said anything")
        said: dict[str, float] = json.loads(line)
        return said

    def stall(self) -> None:
        """It stays connected, and reads nothing any more."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def finish(self) -> None:
        """Ask it for its last line."""
        self._process.send_signal(signal.SIGTERM)


class Daemon:
    """A daemon process that serves."""

    def __init__(self, paths: Paths, process: subprocess.Popen[bytes], client: Client, start_s: float) -> None:
        self.paths = paths
        self.client = client
        self.start_s = start_s  # from nothing to SERVING
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def address(self) -> str:
        return f"unix:{self.paths.socket}"

    async def flood_session(self, lines: int, *, rate: float = 0, text_bytes: int = 0, directory: str = "/") -> str:
        """A session whose agent answers each message with so many deltas."""
        directions = {"FLOOD": str(lines), "RATE": str(rate), "BYTES": str(text_bytes)}
        environment = _PLAIN | {f"BETCODE_DEMO_{name}": value for name, value in directions.items()}
        new = NewConversation(working_directory=directory, provider="demo", environment=environment)
        return await self.client.start_session(new)


@asynccontextmanager
async def running_daemon(state_dir: Path, *, claude_bin: Path | None = None) -> AsyncIterator[Daemon]:
    """A daemon on this state directory; leaving the block ends it and every process that it left running."""
    paths = choose_paths({}, state_dir=state_dir, config_dir=state_dir / "config")
    argv = [sys.executable, "-m", "betcode.daemon", "--state-dir", str(state_dir)]
    argv += ["--config-dir", str(paths.config_dir)]
    argv += ["--claude-bin", str(claude_bin)] if claude_bin else []
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: ASYNC220 - nobody else is waiting, and its time is what is measured
        argv,
        env=_PLAIN | {"HOME": str(state_dir)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        await serving(paths.socket, process)
        start_s = time.perf_counter() - began
        async with open_client(paths) as client:
            yield Daemon(paths, process, client, start_s)
    finally:
        _end(process, paths.runs)


async def serving(socket: Path, process: subprocess.Popen[bytes]) -> None:
    """Return as soon as the server at this socket says that it serves."""
    with anyio.fail_after(BOUND_S):
        while not (socket.exists() and await _serves(socket)):
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode}")
            await anyio.sleep(0.002)


async def _serves(socket: Path) -> bool:
    async with aio.insecure_channel(f"unix:{socket}", options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        check: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            return await check(b"", timeout=2) == _SERVING
        except grpc.RpcError:
            return False


def resident_bytes(pid: int) -> int:
    """What a process holds in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def processor_s(pid: int) -> float:
    """How long a process has been at work so far, with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()  # its name may have spaces
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _end(process: subprocess.Popen[bytes], runs: Path) -> None:
    """The daemon, and then its holders with their agents, which would outlive it."""
    process.kill()
    process.wait()
    for holder in holder_pids(runs):
        with suppress(ProcessLookupError):
            below = descendants(holder)
            os.kill(holder, signal.SIGKILL)
            for one in below:
                send_signal(one, signal.SIGKILL)
