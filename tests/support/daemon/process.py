"""A real daemon process in a directory of its own, which a test can kill and start again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import anyio
import grpc
from grpc import aio
from grpc_health.v1 import health_pb2

from betcode.client.address import grpc_target, reachable
from betcode.config.paths import Paths, choose_paths
from betcode.holder.launch import holder_pids
from betcode.holder.platform import Process, all_marked, process, processes, send_signal
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.paths import AGENTS, TESTS
from support.patience import PATIENCE_S
from support.processes import preloaded
from support.processes.preloaded import Started
from support.processes.process_trees import trees_below

if TYPE_CHECKING:
    from betcode.v1.agent_pb2_grpc import AgentServiceAsyncStub  # known to the stub files only

Agent: TypeAlias = "AgentServiceAsyncStub"
# A script of an agent is copied to where a test wants it; its parts are found here.
AGENT_HEAD = f"#!{sys.executable} -SB\nimport sys\nsys.path.append({str(TESTS)!r})\n"


AGENT_VERSION = "2.1.325"
_SAYS_ITS_VERSION = "import sys\nif sys.argv[1:] == ['--version']:\n    sys.exit(print('{} (Claude Code)'))\n"


def agent_program(directory: Path, script: str = "obedient.py", *, version: str = AGENT_VERSION) -> Path:
    """An executable file that runs a script of tests/support/agents, to be used as --claude-bin."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / f"agent-{Path(script).stem}"
    beginning = AGENT_HEAD + _SAYS_ITS_VERSION.format(version)
    program.write_text(beginning + (AGENTS / script).read_text())
    program.chmod(0o755)
    return program


_LOG_SETTLES_S = 0.02
_LOG_READS = 10


class Daemon:
    """One state directory and, after `start`, the daemon process that works on it."""

    def __init__(
        self,
        root: Path,
        *,
        settings: Mapping[str, object] | None = None,
        claude_bin: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.root = root
        self.work = root / "work"  # a working directory for sessions
        self.paths: Paths = choose_paths({}, state_dir=root / "state", config_dir=root / "config")
        self._claude_bin = claude_bin
        self._environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(root / "home"),
            "LANG": "C.UTF-8",
            **{k: v for k, v in os.environ.items() if k.startswith("COV")},
            **(environment or {}),
        }
        for directory in (self.work, self.paths.config_dir, root / "home"):
            directory.mkdir(parents=True, exist_ok=True)
        self.configure(settings or {})
        self._process: Started | None = None

    def configure(self, settings: Mapping[str, object]) -> None:
        """What settings.json says from the next start on."""
        (self.paths.config_dir / "settings.json").write_text(json.dumps(settings))

    @property
    def argv(self) -> list[str]:
        paths = self.paths
        argv = [sys.executable, "-m", "betcode.daemon", "--state-dir", str(paths.state_dir)]
        argv += ["--config-dir", str(paths.config_dir), "--socket", str(paths.socket)]
        return [*argv, "--claude-bin", str(self._claude_bin)] if self._claude_bin else argv

    @property
    def environment(self) -> dict[str, str]:
        return dict(self._environment)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while the process runs."""
        assert self._process is not None
        return self._process.poll()

    @property
    def log(self) -> str:
        """What the daemon wrote so far, over all its starts.

        A thread of the daemon writes the log, a moment after the event. So the file is read until it stops growing.
        """
        path = self.paths.daemon_log
        text = path.read_text(errors="replace") if path.exists() else ""
        for _ in range(_LOG_READS):
            time.sleep(_LOG_SETTLES_S)
            before, text = text, path.read_text(errors="replace") if path.exists() else ""
            if text == before:
                break
        return text

    @property
    def agent_pids(self) -> list[int]:
        """The pids of all agents that ever ran in the working directory (those of obedient.py)."""
        path = self.work / "agent.pids"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def launch(self, *, argv: Sequence[str] = (), **more_environment: str) -> Started:
        """Start the process and do not wait until it serves; with `argv` always by a new interpreter."""
        environment = self._environment | more_environment
        errors = self.root / "stderr"
        with errors.open("ab") as stderr, Path(os.devnull).open("r+b") as null:
            if not argv and preloaded.can_fork(self.argv, environment):
                streams = (null.fileno(), null.fileno(), stderr.fileno())
                self._process = preloaded.start(self.argv, environment, self.root, streams, new_session=True)
            else:
                self._process = subprocess.Popen(
                    argv or self.argv,
                    env=environment,
                    cwd=self.root,
                    stdin=null,
                    stdout=null,
                    stderr=stderr,
                    start_new_session=True,
                )
        return self._process

    async def start(self, **more_environment: str) -> None:
        """Start the process and wait until it serves."""
        process = self.launch(**more_environment)
        with anyio.fail_after(PATIENCE_S):
            while not await self.serves():
                if process.poll() is not None:
                    raise AssertionError(f"the daemon ended with {process.returncode}:\n{self.stderr}")
                await anyio.sleep(0.01)

    @property
    def stderr(self) -> str:
        path = self.root / "stderr"
        return path.read_text(errors="replace") if path.exists() else ""

    async def until_it_serves(self, wait_s: float) -> None:
        """What a client does between two attempts, however long a start takes: `open_client(..., sleep=...)`."""
        with anyio.fail_after(PATIENCE_S):
            while not await self.serves():  # noqa: ASYNC110
                await anyio.sleep(0.01)
            await anyio.sleep(wait_s)  # for its channel, which does not connect again at once

    async def serves(self) -> bool:
        if not self.paths.socket.exists():
            return False
        async with self.channel() as channel:
            check: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
            try:
                answer = health_pb2.HealthCheckResponse.FromString(await check(b"", timeout=5))
            except grpc.RpcError:
                return False
            return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    def kill(self) -> None:
        """SIGKILL: nothing is tidied up, agents run on in their holders."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE_S)

    async def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return await self.ended()

    async def ended(self) -> int:
        """Wait until the process is gone; its exit code."""
        process = self._process
        assert process is not None
        with anyio.fail_after(PATIENCE_S):
            return await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)

    def reload(self, settings: Mapping[str, object]) -> None:
        """Have the running daemon read other settings."""
        self.configure(settings)
        os.kill(self.pid, signal.SIGHUP)

    async def restart(self) -> None:
        self.kill()
        await self.start()

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[aio.Channel]:
        """A connection of its own, as another program would have it."""
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 50)]
        with reachable(self.paths.socket) as socket:
            async with aio.insecure_channel(grpc_target(socket), options=options) as channel:
                yield channel

    @asynccontextmanager
    async def agent_service(self) -> AsyncIterator[Agent]:
        async with self.channel() as channel:
            yield AgentServiceStub(channel)

    def processes(self) -> list[Process]:
        """Every living process that belongs to this daemon's directory, holders, agents and their tools included."""
        table = processes()
        return trees_below(table, [*holder_pids(self.paths.runs), *(pid for pid in table if self._mentions(pid))])

    def _mentions(self, pid: int) -> bool:
        if self._process is not None and pid == self._process.pid:
            return True  # a forked one has the command line of the process that forked it
        return os.fsencode(f"{self.root}/") in _command_line(pid) + b"/"

    def _serves_this_directory(self, pid: int) -> bool:
        words = _command_line(pid).split(b"\0")
        return b"betcode.daemon" in words and os.fsencode(self.paths.state_dir) in words

    def _owned(self) -> list[Process]:
        """The daemons of this directory, their holders, the processes of their runs, and all below these.

        A process that only has the directory in its arguments is somebody else's.
        """
        table = processes()
        roots = {pid for pid in table if self._serves_this_directory(pid)} | holder_pids(self.paths.runs)
        roots |= {one.pid for run, one in all_marked() if run and (self.paths.runs / run).is_dir()}
        if self._process is not None and self._process.poll() is None:
            roots.add(self._process.pid)
        return trees_below(table, roots)

    def end_everything(self) -> None:
        """Leave no process behind: the daemon, the holders, the agents and what these began."""
        below = self._owned()  # before the daemon ends: its children have no other connection to it
        if self._process is not None and self._process.poll() is None:
            self.kill()
        while left := [one for one in below if _runs(one)] + self._owned():
            for one in left:
                send_signal(one, signal.SIGKILL)


def _runs(one: Process) -> bool:
    found = process(one.pid)
    return found is not None and found.start == one.start and not found.zombie


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def becomes_true(check: Callable[[], bool]) -> None:
    """Wait, within a bound, for something that nothing announces, such as the end of a process."""
    with anyio.fail_after(PATIENCE_S):
        while not check():  # noqa: ASYNC110
            await anyio.sleep(0.01)


@asynccontextmanager
async def running_daemon(
    root: Path,
    *,
    settings: Mapping[str, object] | None = None,
    claude_bin: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Daemon]:
    """A daemon that serves; leaving the block ends it and every process that it left running."""
    daemon = Daemon(root, settings=settings, claude_bin=claude_bin, environment=environment)
    try:
        await daemon.start()
        yield daemon
    finally:
        daemon.end_everything()


@asynccontextmanager
async def obedient_daemon(root: Path, *, settings: Mapping[str, object] | None = None) -> AsyncIterator[Daemon]:
    """A daemon whose `claude` is tests/support/agents/obedient.py."""
    async with running_daemon(root, settings=settings, claude_bin=agent_program(root)) as daemon:
        yield daemon
