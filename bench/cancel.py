"""How long a client waits for the end of a turn that it cancels, beyond what the agent itself takes."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import anyio

from bench.figure import Effort, Figure, Judged, median, percentile
from bench.stage import BOUND_S, Daemon, running_daemon
from betcode.client import Client
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.holder.journal_reader import JournalReader

_RATE = 200.0  # lines a second that the agent writes
_CANCELS = 60
_READ_BYTES = 4 * 1024 * 1024


async def measure(effort: Effort) -> list[Figure]:
    seen: list[float] = []
    own: list[float] = []
    async with running_daemon(effort.root) as daemon:
        for run in range(effort.runs):
            effort.progress(f"run {run + 1} of {effort.runs}")
            seen += await _cancels(daemon, effort.size(_CANCELS))
        for directory in daemon.paths.runs.iterdir():
            own += _agents_own(_records(directory))
    baseline = "the agent's own: interrupt in, result out"
    return [
        Figure(
            f"cancel to TurnComplete, {name}",
            baseline,
            judge(own) * 1e3,
            judge(seen) * 1e3,
            50,
            "ms",
            Judged.OVER_BASELINE,
        )
        for name, judge in (("median", median), ("p95", lambda values: percentile(values, 0.95)))
    ]


async def _cancels(daemon: Daemon, times: int) -> list[float]:
    session = await daemon.flood_session(100_000, rate=_RATE)
    with anyio.fail_after(BOUND_S):
        return [await _cancel(daemon.client, session) for _ in range(times)]


async def _cancel(client: Client, session: str) -> float:
    """From the call to the event, on a stream that was there before."""
    accepted = await client.send(session, "begin")
    began = 0.0
    async with aclosing(client.follow(session, accepted.sequence)) as events, anyio.create_task_group() as tasks:
        async for event in events:
            if event.text_delta.text and not began:
                began = time.perf_counter()
                tasks.start_soon(client.cancel, session)
            if event.HasField("turn_complete"):
                return time.perf_counter() - began
    raise RuntimeError("the stream ended before the turn")


def _records(directory: Path) -> list[Record]:
    reader = JournalReader(directory, 0, line_limit_bytes=_READ_BYTES)
    records: list[Record] = []
    while more := reader.read(_READ_BYTES):
        records += more
    return records


def _agents_own(records: Sequence[Record]) -> list[float]:
    """Between the interrupt's line in the journal and the result's, by the holder's clock."""
    took: list[float] = []
    asked: Record | None = None
    for record in records:
        if record.kind is RecordKind.IN and b'"interrupt"' in record.data:
            asked = record
        elif asked and record.kind is RecordKind.OUT and b'"type":"result"' in record.data.replace(b" ", b"")[:40]:
            took.append((record.mono_ns - asked.mono_ns) / 1e9)
            asked = None
    return took
