"""Run a program to its end within limits, for code that has no event loop."""

import os
import selectors
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from betcode.proc.child import BoundedOutput, Child, start
from betcode.proc.run import DRAINED_WITHIN_S, OUTPUT_LIMIT_BYTES, RunResult

_PIECE_BYTES = 64 * 1024


def run_blocking(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    limit_s: float,
    output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
) -> RunResult:
    """Run a program without input and kill its group at its end or at the time limit. Blocks until then.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    child = start(argv, environment)
    outputs = {child.out: BoundedOutput(output_limit_bytes), child.err: BoundedOutput(output_limit_bytes)}
    out, err = outputs[child.out], outputs[child.err]
    try:
        has_ended = _read(child, outputs, time.monotonic() + limit_s)
    finally:
        child.end_now()
    return RunResult(child.code if has_ended else None, bytes(out.data), bytes(err.data))


def _read(child: Child, outputs: Mapping[int, BoundedOutput], until: float) -> bool:
    """Read until the process has ended, and the pipes are closed soon after; whether it has ended in time."""
    with selectors.DefaultSelector() as selector:
        for descriptor in outputs:
            selector.register(descriptor, selectors.EVENT_READ)
        if child.exit_handle is not None:
            selector.register(child.exit_handle, selectors.EVENT_READ)
        has_ended = False
        while selector.get_map() and (left_s := until - time.monotonic()) > 0:
            for key, _ in selector.select(left_s):
                if key.fd not in outputs:
                    has_ended = True
                    child.kill()
                    until = min(until, time.monotonic() + DRAINED_WITHIN_S)
                    selector.unregister(key.fd)
                elif not _add_next(key.fd, outputs[key.fd]):
                    selector.unregister(key.fd)
        return has_ended or child.wait_blocking(until - time.monotonic())


def _add_next(descriptor: int, output: BoundedOutput) -> bool:
    """Whether the pipe is still open."""
    with suppress(BlockingIOError):
        piece = os.read(descriptor, _PIECE_BYTES)
        output.add(piece)
        return bool(piece)
    return True
