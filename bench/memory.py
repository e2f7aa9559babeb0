"""What an idle daemon holds in memory, and what an idle session adds to it."""

import anyio
from grpc import aio

from bench.batches import FOLLOW, OPTIONS, follow_request
from bench.figure import Effort, Figure, median
from bench.filling import fill_sessions
from bench.serving import empty_facts
from bench.stage import resident_bytes, running_daemon

_SESSIONS = 5_000
_AT_ONCE = 50
_MB = 1024 * 1024


async def measure(effort: Effort) -> list[Figure]:
    idle: list[float] = []
    each: list[float] = []
    bare: list[float] = []
    number = effort.size(_SESSIONS)
    for run in range(effort.runs):
        effort.progress(f"run {run + 1} of {effort.runs}: {number} sessions")
        root = effort.root / str(run)
        bare.append((await empty_facts(root)).resident_bytes / _MB)
        sessions = await fill_sessions(root, number)
        async with running_daemon(root) as daemon:
            await _open_and_leave(daemon.address, sessions[:_AT_ONCE])  # what grpc makes once is not a session's
            before = resident_bytes(daemon.pid)
            idle.append(before / _MB)
            async for _ in daemon.client.all_sessions():
                pass
            await _open_and_leave(daemon.address, sessions)
            each.append((resident_bytes(daemon.pid) - before) / number / 1024)
    baseline = "an empty grpc.aio server"
    return [
        Figure("resident memory, idle daemon", baseline, median(bare), median(idle), 80, "MB"),
        Figure("resident memory, each idle session", "nothing", 0, median(each), 20, "kB"),
    ]


async def _open_and_leave(address: str, sessions: list[str]) -> None:
    """Attach to every session once, read its history, and let go."""
    async with aio.insecure_channel(address, options=list(OPTIONS)) as channel:
        follow: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(FOLLOW)

        async def one(session: str) -> None:
            call = follow(follow_request(session))
            await call.read()
            call.cancel()

        for at in range(0, len(sessions), _AT_ONCE):
            async with anyio.create_task_group() as tasks:
                for session in sessions[at : at + _AT_ONCE]:
                    tasks.start_soon(one, session)
