"""What betcode adds to one delta at 200 a second, from the agent's pipe to a client's Follow."""

from bench.figure import Effort, Figure, Judged, median
from bench.stage import Program, running_daemon

_RATE = 200
_LINES = 2_000


async def measure(effort: Effort) -> list[Figure]:
    lines = effort.size(_LINES)
    direct: list[dict[str, float]] = []
    through: list[dict[str, float]] = []
    async with running_daemon(effort.root) as daemon:
        for run in range(effort.runs):
            effort.progress(f"run {run + 1} of {effort.runs}")
            with Program("-m", "bench.listener", "pipe", str(lines), str(_RATE), "0") as reader:
                await reader.says()
                direct.append(await reader.says())
            session = await daemon.flood_session(lines, rate=_RATE)
            with Program("-m", "bench.listener", "follow", daemon.address, session) as listener:
                await listener.says()
                await daemon.client.send(session, "go")
                through.append(await listener.says())
    return [
        Figure(
            f"added latency of a delta, {name}",
            "reading the pipe directly",
            median([one[key] for one in direct]),
            median([one[key] for one in through]),
            target,
            "ms",
            Judged.OVER_BASELINE,
        )
        for name, key, target in (("median", "p50_ms", 1.5), ("p95", "p95_ms", 5.0))
    ]
