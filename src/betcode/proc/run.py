"""Run a program to its end within limits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from subprocess import DEVNULL, PIPE

import anyio
import anyio.to_thread

from betcode.proc.child import BoundedOutput, Child, ending, next_piece, start

OUTPUT_LIMIT_BYTES = 1024 * 1024
DRAINED_WITHIN_S = 0.5  # a process that left the group may hold the pipe for ever


@dataclass(frozen=True, slots=True)
class RunResult:
    code: int | None  # negative: the signal that ended it; None: it was killed at the time limit
    out: bytes = b""
    err: bytes = b""

    @property
    def timed_out(self) -> bool:
        return self.code is None


async def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    limit_s: float | None,
    stdin: bytes = b"",
    directory: str = "/",
    output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
    on_output: Callable[[bytes], None] | None = None,
    stdout: int = PIPE,
    stderr: int = PIPE,
    grace_s: float = 0.0,
    keep_background: bool = False,
) -> RunResult:
    """Run a program and kill its group at its end, at the time limit and when this call is cancelled.

    `on_output` gets stdout instead of the result. `keep_background`: processes that the program put into the
    background survive its own end; output is then read to the end of the pipes.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    begin = partial(start, stdin=PIPE if stdin else DEVNULL, stdout=stdout, stderr=stderr, directory=directory)
    child = await anyio.to_thread.run_sync(begin, argv, environment)
    out, err = BoundedOutput(output_limit_bytes), BoundedOutput(output_limit_bytes)
    code = None
    with anyio.move_on_after(limit_s):
        async with ending(child, grace_s), anyio.create_task_group() as tasks:
            tasks.start_soon(child.write_all, stdin)
            tasks.start_soon(_read, child.out, on_output or out.add)
            tasks.start_soon(_read, child.err, err.add)
            code = await _end_of(child, keep_background=keep_background)
            if not keep_background:
                tasks.cancel_scope.deadline = anyio.current_time() + DRAINED_WITHIN_S
    return RunResult(code, bytes(out.data), bytes(err.data))


async def _end_of(child: Child, *, keep_background: bool) -> int:
    return await (child.wait() if keep_background else child.ended())


async def _read(descriptor: int, add: Callable[[bytes], None]) -> None:
    if descriptor >= 0:
        while piece := await next_piece(descriptor):
            add(piece)
