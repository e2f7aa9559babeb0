"""One child process in its own process session and group."""

import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

import anyio
import anyio.to_thread

_PIECE_BYTES = 64 * 1024
_KILLED_WITHIN_S = 5.0  # a process that hangs in the kernel is abandoned


class Child:
    """The process. Only this object reaps it, so that its pid cannot be reused before `ended` or `wait` returns."""

    def __init__(self, process: "Popen[bytes]") -> None:
        self._process = process
        self._stdin = process.stdin
        self._pipes = [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)
        self.out = process.stdout.fileno() if process.stdout is not None else -1
        self.err = process.stderr.fileno() if process.stderr is not None else -1
        self.exit_handle = _exit_handle(process.pid)  # readable once it has ended; None if the system has none

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it is not known."""
        return self._process.returncode

    async def write_all(self, data: bytes) -> None:
        """Write to its stdin and close that. A process that does not read it is no error."""
        if self._stdin is None:
            return
        rest = memoryview(data)
        with suppress(BrokenPipeError):
            while rest:
                await anyio.wait_writable(self._stdin.fileno())
                with suppress(BlockingIOError):
                    rest = rest[os.write(self._stdin.fileno(), rest[:_PIECE_BYTES]) :]
        self._stdin.close()

    async def has_ended(self) -> None:
        """Return once it has ended. It is not reaped, so signals still reach only its own group."""
        if self._process.returncode is not None:
            return
        if self.exit_handle is not None:
            await anyio.wait_readable(self.exit_handle)
            return
        own = anyio.CapacityLimiter(1)  # it may take as long as the process runs
        await anyio.to_thread.run_sync(self._wait_unreaped, abandon_on_cancel=True, limiter=own)

    async def wait(self) -> int:
        """The exit code, once it has ended. Other processes of its group keep running."""
        await self.has_ended()
        return self._process.wait()

    async def ended(self) -> int:
        """The exit code, once it has ended; the rest of its group is killed."""
        if self._process.returncode is None:
            await self.has_ended()
            self._signal(signal.SIGKILL)  # before the pid can be reused
            self._process.wait()
        return self._process.returncode

    async def end(self, grace_s: float = 0.0) -> None:
        """Kill it and its group, after SIGTERM and a wait if there is a grace period; close the pipes."""
        if self._process.returncode is None and grace_s:
            self.signal_group(signal.SIGTERM)
            with anyio.move_on_after(grace_s):
                await self.has_ended()
        if self._process.returncode is None:
            self.signal_group(signal.SIGKILL)
            with anyio.move_on_after(_KILLED_WITHIN_S):
                await self.ended()
        self.close()

    def end_now(self) -> None:
        """Like `end` without a grace period, for threads. It blocks for at most a few seconds."""
        self.kill()
        self.close()

    def kill(self) -> None:
        """Kill it and its group, and reap it. It blocks for at most a few seconds."""
        self.signal_group(signal.SIGKILL)
        with suppress(TimeoutExpired):
            self._process.wait(_KILLED_WITHIN_S)

    def wait_blocking(self, limit_s: float) -> bool:
        """Whether it ends within the limit, for threads."""
        with suppress(TimeoutExpired):
            self._process.wait(max(limit_s, 0))
        return self._process.returncode is not None

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to its group, unless the process has been reaped."""
        if self._process.returncode is None:
            self._signal(number)

    def close(self) -> None:
        """Close the pipes."""
        for pipe in self._pipes:
            pipe.close()
        if self.exit_handle is not None:
            os.close(self.exit_handle)
            self.exit_handle = None

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _wait_unreaped(self) -> None:
        if hasattr(os, "waitid"):
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
            self._signal(signal.SIGKILL)


class BoundedOutput:
    """The output from a pipe, up to a limit; the rest is read and dropped, so that the writer is not blocked."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.data = bytearray()
        self.is_too_much = False

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")

    def add(self, piece: bytes) -> None:
        self.data += piece[: self.limit_bytes - len(self.data)]
        self.is_too_much = len(self.data) == self.limit_bytes

    async def collect(self, descriptor: int, over_limit: anyio.CancelScope | None = None) -> None:
        """Read to the end of the pipe; at the limit cancel `over_limit`, if there is one."""
        while piece := await next_piece(descriptor):
            self.add(piece)
            if self.is_too_much and over_limit is not None:
                over_limit.cancel()


def start(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    directory: str = "/",
    executable: str | None = None,
    umask: int = -1,
    stdin: int = DEVNULL,
    stdout: int = PIPE,
    stderr: int = PIPE,
) -> Child:
    """Start a program. It may block while the program, or a directory other than the root, is read from the disk.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    process = Popen(
        argv,
        executable=executable,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        bufsize=0,
        cwd=directory,
        env=dict(environment),
        start_new_session=True,
        umask=umask,
    )
    return Child(process)


@asynccontextmanager
async def ending(child: Child, grace_s: float = 0.0) -> AsyncGenerator[Child, None]:
    """A process that was just started; it and its group have ended when the block is left, for whatever reason."""
    try:
        yield child
    finally:
        with anyio.CancelScope(shield=True):
            await child.end(grace_s)


async def next_piece(descriptor: int) -> bytes:
    """The next output from a pipe; empty at its end. A cancelled call loses nothing."""
    while True:
        await anyio.wait_readable(descriptor)
        with suppress(BlockingIOError):
            return os.read(descriptor, _PIECE_BYTES)


def _exit_handle(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
