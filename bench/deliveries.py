"""A hundred followers of one session, and whether the slowest of them costs the agent anything."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from bench.figure import Effort, Figure, Judged, median
from bench.stage import Daemon, Program, processor_s, running_daemon

_LINES = 30_000
_TEXT_BYTES = 40
_PROCESSES = 4
_STREAMS = 25
_PAIRS = 7


@dataclass(frozen=True, slots=True)
class Pace:
    """How quick an agent was, and what it cost."""

    lines_per_s: float
    daemon_s: float  # processor time


async def measure(effort: Effort) -> list[Figure]:
    lines = effort.size(_LINES)
    alone: list[float] = []
    crowd: list[float] = []
    beside: dict[int, list[Pace]] = {0: [], 1: []}  # by how many have stalled
    async with running_daemon(effort.root) as daemon:
        for run in range(effort.runs):
            effort.progress(f"run {run + 1} of {effort.runs}")
            alone.append(await _deliveries(daemon, lines, processes=1, streams=1))
            crowd.append(await _deliveries(daemon, lines, processes=_PROCESSES, streams=_STREAMS))
        pairs = effort.runs if effort.quick else _PAIRS
        for pair in range(pairs):
            effort.progress(f"beside a stalled follower, {pair + 1} of {pairs}")
            for stalled in (0, 1) if pair % 2 else (1, 0):  # neither is always the one that comes later
                beside[stalled].append(await _beside(daemon, lines, stalled=stalled))
    return [
        Figure(
            "deliveries, 100 followers of one session",
            "the same with one follower",
            median(alone),
            median(crowd),
            200_000,
            "events/s",
            Judged.AT_LEAST,
        ),
        _agents_pace(unhindered=beside[0], hindered=beside[1]),
    ]


def _agents_pace(*, unhindered: Sequence[Pace], hindered: Sequence[Pace]) -> Figure:
    # What else runs on the machine changes how long the daemon takes, and hardly how much it does.
    with_it, without = (median([pace.daemon_s for pace in paces]) for paces in (hindered, unhindered))
    return Figure(
        "agent's lines beside a stalled follower",
        "without it",
        median([pace.lines_per_s for pace in unhindered]),
        median([pace.lines_per_s for pace in hindered]),
        0.9,
        "lines/s",
        Judged.SHARE_OF_BASELINE,
        f"the daemon's processor time {with_it:.2f} s, without it {without:.2f} s",
    )


async def _deliveries(daemon: Daemon, lines: int, *, processes: int, streams: int) -> float:
    """Events a second, summed over all followers, from the agent's first to the last that the last of them had."""
    session = await daemon.flood_session(lines, text_bytes=_TEXT_BYTES)
    argv = ("-m", "bench.followers", daemon.address, session, str(streams))
    with contextlib.ExitStack() as stack:
        followers = [stack.enter_context(Program(*argv)) for _ in range(processes)]
        for follower in followers:
            await follower.says()
        await daemon.client.send(session, "go")
        seen = [await follower.says() for follower in followers]
    took_ns = max(one["ended_ns"] for one in seen) - min(one["began_ns"] for one in seen)
    return sum(one["events"] for one in seen) / took_ns * 1e9


async def _beside(daemon: Daemon, lines: int, *, stalled: int) -> Pace:
    """The agent's lines a second as one follower sees them, with so many others that read nothing."""
    session = await daemon.flood_session(lines, text_bytes=_TEXT_BYTES)
    argv = ("-m", "bench.followers", daemon.address, session)
    with contextlib.ExitStack() as stack:
        follower = stack.enter_context(Program(*argv, "1"))
        await follower.says()
        if stalled:
            others = stack.enter_context(Program(*argv, str(stalled)))
            await others.says()
            others.stall()
        before_s = processor_s(daemon.pid)
        await daemon.client.send(session, "go")
        seen = await follower.says()
        daemon_s = processor_s(daemon.pid) - before_s
    return Pace(lines / (seen["ended_ns"] - seen["began_ns"]) * 1e9, daemon_s)
