"""A hundred followers of one session, and whether the slowest of them costs the agent anything."""

import contextlib

from bench.figure import Effort, Figure, Judged, median
from bench.stage import Daemon, Program, running_daemon

_LINES = 30_000
_TEXT_BYTES = 40
_PROCESSES = 4
_STREAMS = 25


async def measure(effort: Effort) -> list[Figure]:
    lines = effort.size(_LINES)
    alone: list[float] = []
    crowd: list[float] = []
    unhindered: list[float] = []
    hindered: list[float] = []
    async with running_daemon(effort.root) as daemon:
        for run in range(effort.runs):
            effort.progress(f"run {run + 1} of {effort.runs}")
            alone.append(await _deliveries(daemon, lines, processes=1, streams=1))
            crowd.append(await _deliveries(daemon, lines, processes=_PROCESSES, streams=_STREAMS))
            unhindered.append(await _beside(daemon, lines, stalled=0))
            hindered.append(await _beside(daemon, lines, stalled=1))
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
        Figure(
            "agent's lines beside a stalled follower",
            "without it",
            median(unhindered),
            median(hindered),
            0.9,
            "lines/s",
            Judged.SHARE_OF_BASELINE,
        ),
    ]


async def _deliveries(daemon: Daemon, lines: int, *, processes: int, streams: int) -> float:
    """Events a second, summed over all followers, from the first that one of them had to the last of all."""
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


async def _beside(daemon: Daemon, lines: int, *, stalled: int) -> float:
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
        await daemon.client.send(session, "go")
        seen = await follower.says()
    return lines / (seen["ended_ns"] - seen["began_ns"]) * 1e9
