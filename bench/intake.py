"""How many lines of one agent a daemon takes in, commits and announces when the agent speaks flat out."""

from bench.figure import Effort, Figure, Judged, median
from bench.stage import Program, running_daemon

_LINES = 100_000
_TEXT_BYTES = 40


async def measure(effort: Effort) -> list[Figure]:
    lines = effort.size(_LINES)
    direct: list[float] = []
    through: list[float] = []
    async with running_daemon(effort.root) as daemon:
        for run in range(effort.runs):
            effort.progress(f"run {run + 1} of {effort.runs}")
            with Program("-m", "bench.listener", "pipe", str(lines), "0", str(_TEXT_BYTES)) as reader:
                await reader.says()
                direct.append((await reader.says())["lines_per_s"])
            session = await daemon.flood_session(lines, text_bytes=_TEXT_BYTES)
            with Program("-m", "bench.followers", daemon.address, session, "1") as follower:
                await follower.says()
                await daemon.client.send(session, "go")
                seen = await follower.says()
            through.append(lines / (seen["ended_ns"] - seen["began_ns"]) * 1e9)
    name = "lines taken in, one session"
    baseline = "reading the pipe directly"
    return [Figure(name, baseline, median(direct), median(through), 20_000, "lines/s", Judged.AT_LEAST)]
