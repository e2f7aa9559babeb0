"""A running command: in its own session, signalled as a group, and ended with all its child processes."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

import anyio
import anyio.to_thread

from betcode.holder.platform import Process, all_marked, descendants, marked, processes, start_time
from betcode.holder.tool_leftovers import end_found
from betcode.proc.child import start

# Every descendant of a command has its number in the environment, even if it left its session and its parent.
MARKER = "BETCODE_COMMAND"
GRACE_S = 3.0  # between TERM and KILL
_PIECE_BYTES = 64 * 1024
_PIPE_BYTES = 960 * 1024  # far more than a pipe holds, unless it was enlarged


@dataclass(frozen=True, slots=True)
class Start:
    """The values needed to start a command."""

    program: str
    argv: Sequence[str]
    directory: str
    environment: Mapping[str, str]
    marker: str
    umask: int = -1
    grace_s: float = GRACE_S


class Child:
    """The process. It is waited for here and nowhere else, so that its number is its own until `ended` returns."""

    def __init__(self, command: Start) -> None:
        """Start it. It may block.

        Raises:
            OSError, ValueError: it cannot be started.
        """
        self._child = start(
            command.argv,
            {**command.environment, MARKER: command.marker},
            directory=command.directory,
            executable=command.program,
            umask=command.umask,
        )
        self._marker = command.marker
        self.grace_s = command.grace_s
        self._start_time = start_time(self._child.pid)
        self.out = self._child.out
        self.err = self._child.err
        self.signal_group = self._child.signal_group
        self.has_ended = self._child.has_ended
        self.close = self._child.close

    async def end(self) -> int:
        """End it and everything it started, gently first; how it ended."""
        await _insisted(asyncio.get_running_loop().run_in_executor(None, self.end_now))
        return self._child.code if self._child.code is not None else -signal.SIGKILL

    def end_now(self) -> None:
        """End it now. It blocks for at most a few seconds; a process that hangs in the kernel is abandoned."""
        end_found(self._found, grace_s=self.grace_s)
        self._child.kill()

    def left_over(self, descriptor: int) -> bytes:
        """Return the rest of a pipe after all its writers have ended; it does not wait."""
        found = bytearray()
        with suppress(BlockingIOError):
            while len(found) < _PIPE_BYTES and (piece := os.read(descriptor, _PIECE_BYTES)):
                found += piece
        return bytes(found)

    def _found(self) -> list[Process]:
        pid = self._child.pid
        found = {one.pid: one for one in marked(self._marker, MARKER)}
        if self._child.code is None and start_time(pid) == self._start_time:
            found |= {one.pid: one for one in [*_of_session(pid), *descendants(pid)]}
        return [one for one in found.values() if one.pid != os.getpid()]


def end_commands(ending: str, but_beginning: str) -> int:
    """End running processes with such markers; return their number. It may block for a few seconds."""

    def found() -> list[Process]:
        all_ = [(marker, one) for marker, one in all_marked(MARKER) if marker.endswith(ending)]
        return [one for marker, one in all_ if not marker.startswith(but_beginning)]

    return end_found(found, grace_s=GRACE_S)


class Starting:
    """A start that may take longer than anybody waits: what begins after that is ended at once."""

    def __init__(self, check: Callable[[], Start]) -> None:
        self._check = check
        self._lock = Lock()
        self._is_unwanted = False
        self._child: Child | None = None

    def begin(self) -> Child:
        """Validate the command, and start it at once. It may block."""
        start = self._check()
        with self._lock:
            if self._is_unwanted:
                raise TimeoutError
        child = Child(start)
        with self._lock:
            if not self._is_unwanted:
                self._child = child
                return child
        child.end_now()
        child.close()
        raise TimeoutError

    def give_up(self) -> Child | None:
        """Abandon it, because its caller has disconnected; a started process is ended."""
        with self._lock:
            self._is_unwanted = True
            return self._child


async def _insisted(work: "asyncio.Future[None]") -> None:
    """Wait until it is done, despite cancellation: gRPC may cancel again while a failed call is cleaned up."""
    cancelled = None
    with anyio.CancelScope(shield=True):
        while not work.done():
            try:
                await asyncio.wait((work,))
            except asyncio.CancelledError as again:
                cancelled = again
    if cancelled is not None:
        raise cancelled


def _of_session(session: int) -> list[Process]:
    found = []
    for one in processes().values():
        with suppress(OSError):
            if not one.zombie and os.getsid(one.pid) == session:
                found.append(one)
    return found
