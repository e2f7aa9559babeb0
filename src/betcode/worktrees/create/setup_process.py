"""Runs one program of a setup in its own process session, and ends everything it started."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from subprocess import STDOUT

import anyio
import anyio.to_thread

from betcode.holder.platform import Process, descendants, marked, processes, start_time
from betcode.holder.tool_leftovers import end_found
from betcode.proc.child import Child, next_piece, start

# Every descendant of a hook has the worktree's id in its environment, even if it left its session and its parent.
MARKER = "BETCODE_SETUP"
_GRACE_S = 1.0
_ENDED_WITHIN_S = 10.0
_DRAINED_WITHIN_S = 2.0


@dataclass(frozen=True, slots=True)
class SetupProcess:
    argv: Sequence[str]
    directory: str
    environment: Mapping[str, str]
    marker: str
    umask: int = -1


class SetupNotStarted(Exception):
    """The system cannot run it; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    code: int  # negative: the signal that ended it
    left_behind: int  # processes that were still there


async def run_setup_process(
    hook: SetupProcess, on_start: Callable[[str], Awaitable[None]], on_output: Callable[[bytes], None]
) -> ProcessResult:
    """Run it to its end; cancelling ends it, with everything it started.

    Raises:
        SetupNotStarted
    """
    try:
        environment = {**hook.environment, MARKER: hook.marker}
        begin = partial(start, directory=hook.directory, umask=hook.umask, stderr=STDOUT)
        child = await anyio.to_thread.run_sync(begin, hook.argv, environment)  # it waits for the disk of the worktree
    except (OSError, ValueError) as trouble:
        raise SetupNotStarted(getattr(trouble, "strerror", None) or str(trouble)) from None
    name = process_name(child.pid)
    try:
        await on_start(name)
        drained = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_pump, child, on_output, drained)
            code = await child.wait()
            left = await end_setup_process(hook.marker, name, is_ours=True)
            # A process that left even that, unmarked, may hold the pipe forever.
            with anyio.move_on_after(_DRAINED_WITHIN_S):
                await drained.wait()
            tasks.cancel_scope.cancel()
        return ProcessResult(code, left)
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_ENDED_WITHIN_S):
            await end_setup_process(hook.marker, name, is_ours=True)
            await child.wait()
        child.close()


async def _pump(child: Child, on_output: Callable[[bytes], None], drained: anyio.Event) -> None:
    while piece := await next_piece(child.out):
        on_output(piece)
    drained.set()


async def end_setup_process(marker: str, name: str = "", *, is_ours: bool = False) -> int:
    """End processes with the marker, and those below or in the session of the named process; return their number.

    `is_ours`: it was started by this process, so its session is known although it may have left it.
    """
    return await anyio.to_thread.run_sync(lambda: end_found(lambda: _found(marker, name, is_ours), grace_s=_GRACE_S))


def process_name(pid: int) -> str:
    """Return a name that identifies a process permanently."""
    return f"{pid}:{start_time(pid)}"


def _found(marker: str, name: str, is_ours: bool) -> list[Process]:
    found = {one.pid: one for one in marked(marker, MARKER)}
    pid, _, start = name.partition(":")
    # While a session exists, the pid of its first process is not reused.
    if pid and start_time(int(pid)) in ((int(start), 0) if is_ours else (int(start),)):
        found |= {one.pid: one for one in [*_of_session(int(pid)), *descendants(int(pid))]}
    return [one for one in found.values() if one.pid != os.getpid()]


def _of_session(session: int) -> list[Process]:
    found = []
    for one in processes().values():
        with suppress(OSError):
            if not one.zombie and os.getsid(one.pid) == session:
                found.append(one)
    return found
