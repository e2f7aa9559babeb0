"""A child process in its own process group, ended with the block it is in."""

import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from subprocess import PIPE, Popen

import anyio
import anyio.to_thread

_PIECE_BYTES = 64 * 1024
_KILLED_WITHIN_S = 5.0  # what hangs in the kernel is left behind


class Child:
    """The process. It is waited for here and nowhere else, so that its number is its own until `ended` returns."""

    def __init__(self, process: "Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin = process.stdin
        self._pipes = (process.stdin, process.stdout, process.stderr)
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)
        self.out = process.stdout.fileno()
        self.err = process.stderr.fileno()
        self._handle = _handle_of(process.pid)

    @property
    def code(self) -> int | None:
        """How it ended; None: that is not known yet."""
        return self._process.returncode

    async def tell(self, data: bytes) -> None:
        """Write all of it and close; one that does not want it is no failure."""
        rest = memoryview(data)
        with suppress(BrokenPipeError):
            while rest:
                await anyio.wait_writable(self._stdin.fileno())
                with suppress(BlockingIOError):
                    rest = rest[os.write(self._stdin.fileno(), rest[:_PIECE_BYTES]) :]
        self._stdin.close()

    async def ended(self) -> int:
        """Its code, once it has ended; what it started has ended then, too."""
        if self._process.returncode is None:
            if self._handle is not None:
                await anyio.wait_readable(self._handle)
            else:
                await anyio.to_thread.run_sync(self._process.wait, abandon_on_cancel=True)
            self._kill()  # before its number is given back
            self._process.wait()
        return self._process.returncode

    async def end(self) -> None:
        """End it and all of its group, whatever they do about signals; and let go of it."""
        if self._process.returncode is None:
            self._kill()
            with anyio.move_on_after(_KILLED_WITHIN_S):
                await self.ended()
        for pipe in self._pipes:
            pipe.close()
        if self._handle is not None:
            os.close(self._handle)

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def start(argv: Sequence[str], environment: Mapping[str, str], umask: int = -1) -> Child:
    """Start a program, at the root directory: going to one that hangs would hold up this whole process.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    process = Popen(
        argv,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        bufsize=0,
        cwd="/",
        env=dict(environment),
        start_new_session=True,
        umask=umask,
    )
    return Child(process)


@asynccontextmanager
async def ending(child: Child) -> AsyncGenerator[Child, None]:
    """A process that was just started; when the block is left, for whatever reason, it is gone."""
    try:
        yield child
    finally:
        with anyio.CancelScope(shield=True):
            await child.end()


async def next_piece(descriptor: int) -> bytes:
    """What comes out of a pipe next; empty at its end. Whoever is cancelled meanwhile has lost nothing."""
    while True:
        await anyio.wait_readable(descriptor)
        with suppress(BlockingIOError):
            return os.read(descriptor, _PIECE_BYTES)


def _handle_of(pid: int) -> int | None:
    """Something that can be waited for in the loop; None where the system has no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
