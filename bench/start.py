"""How long a daemon takes from nothing to SERVING."""

from pathlib import Path

from bench.figure import Effort, Figure, median
from bench.filling import fill_sessions
from bench.serving import empty_facts
from bench.stage import running_daemon

_SESSIONS = 10_000


async def measure(effort: Effort) -> list[Figure]:
    runs = effort.runs + 2
    sessions = effort.size(_SESSIONS)
    effort.progress(f"writing {sessions} sessions")
    full_dir = effort.root / "full"
    await fill_sessions(full_dir, sessions)
    bare: list[float] = []
    empty: list[float] = []
    full: list[float] = []
    for run in range(runs):
        effort.progress(f"run {run + 1} of {runs}")
        bare.append((await empty_facts(effort.root / "bare")).start_s)
        empty.append(await _start_s(effort.root / f"empty-{run}"))
        full.append(await _start_s(full_dir))
    baseline = "an empty grpc.aio server"
    return [
        Figure("daemon start, empty store", baseline, median(bare) * 1e3, median(empty) * 1e3, 500, "ms"),
        Figure(f"daemon start, {sessions:,} sessions", baseline, median(bare) * 1e3, median(full) * 1e3, 800, "ms"),
    ]


async def _start_s(state_dir: Path) -> float:
    async with running_daemon(state_dir) as daemon:
        return daemon.start_s
