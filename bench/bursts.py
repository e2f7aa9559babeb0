"""What many messages, or many permission prompts, of one session at once cost the daemon and its other clients."""

import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import anyio

from bench.figure import Effort, Figure, Judged
from bench.stage import BOUND_S, Daemon, Program, processor_s, running_daemon
from betcode.client import NewConversation

_MESSAGES = (250, 500, 1_000, 2_000)
_PROMPTS = (125, 250, 500, 1_000)  # more than 1,024 open ones are refused
_WORST_MS = 300.0
_GROWTH = 1.5  # processor time per message, of the largest burst to that of the smallest


@dataclass(frozen=True, slots=True)
class _Burst:
    """What one burst cost."""

    number: int
    accepted_s: float
    cpu_s: float
    p99_s: float
    worst_s: float

    @property
    def cpu_ms_each(self) -> float:
        return self.cpu_s / self.number * 1e3


async def measure(effort: Effort) -> list[Figure]:
    figures: list[Figure] = []
    for what, agent, send, sizes in (
        ("messages", "answerer.py", _messages, _MESSAGES),
        ("permission prompts", "asker.py", _prompts, _PROMPTS),
    ):
        program = effort.root / agent
        program.write_text(f"#!{sys.executable} -S\n{Path(__file__).with_name(agent).read_text()}")
        program.chmod(0o755)
        bursts: list[_Burst] = []
        for number in map(effort.size, sizes):
            async with running_daemon(effort.root / f"{agent}-{number}", claude_bin=program) as daemon:
                bursts.append(await _measured(daemon, number, send))
            burst = bursts[-1]
            effort.progress(
                f"{number} {what}: accepted in {burst.accepted_s:.2f} s, daemon {burst.cpu_s:.2f} s of processor time, "
                f"another client's p99 {burst.p99_s * 1e3:.0f} ms, worst {burst.worst_s * 1e3:.0f} ms"
            )
        figures += _figures(what, bursts)
    return figures


def _figures(what: str, bursts: list[_Burst]) -> list[Figure]:
    least, most = bursts[0], bursts[-1]
    return [
        Figure(
            f"processor time of the daemon for each of {most.number} {what} at once",
            f"for each of {least.number}",
            least.cpu_ms_each,
            most.cpu_ms_each,
            least.cpu_ms_each * (_GROWTH - 1),
            "ms",
            Judged.OVER_BASELINE,
        ),
        Figure(
            f"worst call of another client during {most.number} {what} at once",
            f"during {least.number}",
            least.worst_s * 1e3,
            most.worst_s * 1e3,
            _WORST_MS,
            "ms",
        ),
    ]


async def _measured(daemon: Daemon, number: int, send: Callable[[Daemon, str, int], Awaitable[float]]) -> _Burst:
    state_dir = daemon.paths.state_dir
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(state_dir)}
    new = NewConversation(str(state_dir), provider="claude", environment=environment)
    session = await daemon.client.start_session(new)
    with Program("-m", "bench.bystander", str(state_dir)) as bystander:
        await bystander.says()
        before_s = processor_s(daemon.pid)
        accepted_s = await send(daemon, session, number)
        cpu_s = processor_s(daemon.pid) - before_s
        bystander.finish()
        seen = await bystander.says()
    return _Burst(number, accepted_s, cpu_s, seen["p99_s"], seen["worst_s"])


async def _messages(daemon: Daemon, session: str, number: int) -> float:
    """All are open at once: the agent answers when it has them all. Until the last is answered."""
    await daemon.client.send(session, f"collect {number}")
    with Program("-m", "bench.burst_sender", str(daemon.paths.state_dir), session, str(number)) as sender:
        await sender.says()
        accepted_s = (await sender.says())["accepted_s"]
        await _until(daemon, session, "turn_complete", number + 1)
    return accepted_s


async def _prompts(daemon: Daemon, session: str, number: int) -> float:
    """Until the last is shown."""
    began = anyio.current_time()
    await daemon.client.send(session, f"at once {number}")
    await _until(daemon, session, "permission_request", number)
    return anyio.current_time() - began


async def _until(daemon: Daemon, session: str, kind: str, number: int) -> None:
    with anyio.fail_after(BOUND_S * 5):
        async with aclosing(daemon.client.follow(session)) as events:
            async for event in events:
                number -= event.WhichOneof("event") == kind
                if not number:
                    return
