"""What a hundred stalled followers and a hundred megabytes that they have not read cost in memory."""

import anyio

from bench.figure import Effort, Figure, Judged, median
from bench.filling import delta, fill_events
from bench.stage import Program, resident_bytes, running_daemon

_BACKLOG_BYTES = 100 * 1024 * 1024
_TEXT_BYTES = 1_000
_FOLLOWERS = 100
_SETTLED_S = 2.0
_MB = 1024 * 1024


async def measure(effort: Effort) -> list[Figure]:
    number = effort.size(_BACKLOG_BYTES) // _TEXT_BYTES
    effort.progress(f"writing {number * _TEXT_BYTES // _MB} MB of events")
    session = await fill_events(effort.root, number, delta(_TEXT_BYTES))
    idle: list[float] = []
    stalled: list[float] = []
    for run in range(effort.runs):
        effort.progress(f"run {run + 1} of {effort.runs}")
        async with running_daemon(effort.root) as daemon:
            idle.append(resident_bytes(daemon.pid) / _MB)
            argv = ("-m", "bench.stalled", daemon.address, session, str(_FOLLOWERS), str(number))
            with Program(*argv) as followers:
                await followers.says()
                followers.stall()
                stalled.append(await _most_resident(daemon.pid) / _MB)
    name = f"memory, {_FOLLOWERS} stalled followers of a backlog"
    return [Figure(name, "the idle daemon", median(idle), median(stalled), 60, "MB", Judged.OVER_BASELINE)]


async def _most_resident(pid: int) -> int:
    """The most it had until everything stood still."""
    most = 0
    with anyio.move_on_after(_SETTLED_S):
        while True:
            most = max(most, resident_bytes(pid))
            await anyio.sleep(0.05)
    return most
