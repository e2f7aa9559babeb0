"""Runs a command in its own process group, with bounded output."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from betcode.agents.openai.tools.paths import resolved, unmoved
from betcode.agents.openai.tools.plans import Arguments, Plan, Result, Unfit, Workspace

_LIMIT_S = 120
_LONGEST_S = 600
_KEPT_BYTES = 15_000  # of the beginning and of the end
_GRACE_S = 0.5
_STDIN_BYTES = 60_000  # what a pipe takes at once


@dataclass(frozen=True, slots=True)
class Ran:
    output: str
    exit_code: int
    timed_out: bool = False


def plan_shell(workspace: Workspace, arguments: Arguments) -> Plan:
    command = arguments.text("command")
    limit_s = arguments.number("timeout_s", _LIMIT_S, _LONGEST_S)
    place = resolved(workspace, arguments.text("cwd", ".") or ".")
    description = arguments.text("description", "")
    if not command.strip():
        raise Unfit("The command is empty")
    if not os.path.isdir(place):  # noqa: PTH112 - which says no where it cannot look
        raise Unfit(f"{place} is not a directory")

    async def run() -> Result:
        unmoved(place)
        ran = await run_command(_shell(command), place, workspace.environment, limit_s)
        if ran.timed_out:
            return Result(f"{ran.output}\n(ended after {limit_s} s)", is_error=True)
        words = ran.output or "(no output)"
        return Result(f"{words}\n(exit code {ran.exit_code})" if ran.exit_code else words, bool(ran.exit_code))

    shown: dict[str, str | int] = {"command": command}
    if place != workspace.root:
        shown["cwd"] = str(place)
    if limit_s != _LIMIT_S:
        shown["timeout_s"] = limit_s
    if description:
        shown["description"] = description
    return Plan("Bash", shown, description or command, "execute", True, run)


def _shell(command: str) -> tuple[str, ...]:
    return ("/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh", "-c", command)  # noqa: PTH110


async def run_command(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], limit_s: float, stdin: bytes = b""
) -> Ran:
    """Runs it to its end; nothing of its group is left when this returns, also where this is cancelled."""
    with _pipe() as output:
        process = await _started(argv, cwd, environment, stdin, output)
        kept = _OutputBuffer()
        timed_out = False
        try:
            with anyio.move_on_after(limit_s) as limit:
                async with anyio.create_task_group() as tasks:
                    drained = anyio.Event()
                    tasks.start_soon(_drain, output.read_end, kept, drained)
                    await process.wait()
                    # What it put into the background would run on unseen, and keeps the pipe open.
                    await _end(process, at_once=True)
                    with anyio.move_on_after(_GRACE_S):  # one that left the group holds it still
                        await drained.wait()
                    tasks.cancel_scope.cancel()
            timed_out = limit.cancelled_caught
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process, at_once=False)
        return Ran(kept.text, process.returncode or 0, timed_out)


class _Pipe:
    """A pipe of our own: asyncio tells of a process's end only when those that it made itself are closed."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()

    def close(self, *ends: int) -> None:
        for end in ends or (self.read_end, self.write_end):
            if end == self.read_end >= 0:
                os.close(end)
                self.read_end = -1
            elif end == self.write_end >= 0:
                os.close(end)
                self.write_end = -1


@contextmanager
def _pipe() -> Iterator[_Pipe]:
    pipe = _Pipe()
    try:
        yield pipe
    finally:
        pipe.close()


async def _started(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: bytes, output: _Pipe
) -> asyncio.subprocess.Process:
    """Raises Unfit."""
    if len(stdin) > _STDIN_BYTES:
        raise Unfit("That is too long")
    with _pipe() as given:
        os.write(given.write_end, stdin)
        given.close(given.write_end)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=given.read_end if stdin else subprocess.DEVNULL,
                stdout=output.write_end,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=dict(environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Unfit(f"The command could not be started: {error}") from None
    output.close(output.write_end)
    return process


async def _drain(descriptor: int, kept: "_OutputBuffer", drained: anyio.Event) -> None:
    os.set_blocking(descriptor, False)
    while True:
        await anyio.wait_readable(descriptor)
        with suppress(BlockingIOError):
            chunk = os.read(descriptor, 65536)
            if not chunk:
                break
            kept.take(chunk)
    drained.set()


async def _end(process: asyncio.subprocess.Process, *, at_once: bool) -> None:
    """End the whole group: told first, so that it may tidy up, and then killed."""
    if process.returncode is None and not at_once:
        _signal(process.pid, signal.SIGTERM)
        with anyio.move_on_after(_GRACE_S):
            await process.wait()
    _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _OutputBuffer:
    """The beginning and the end of an output of any length."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def take(self, chunk: bytes) -> None:
        room = _KEPT_BYTES - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[max(0, room) :]
        if len(self._tail) > 2 * _KEPT_BYTES:
            self._left_out += len(self._tail) - _KEPT_BYTES
            del self._tail[:-_KEPT_BYTES]

    @property
    def text(self) -> str:
        left_out = self._left_out + max(0, len(self._tail) - _KEPT_BYTES)
        between = f"\n({left_out} bytes left out)\n".encode() if left_out else b""
        return (bytes(self._head) + between + bytes(self._tail[-_KEPT_BYTES:])).decode(errors="replace")
