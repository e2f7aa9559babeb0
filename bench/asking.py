"""From an agent's question to a client's screen, and from the answer to the agent; both are on disk before."""

import json
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.to_thread

from bench.figure import Effort, Figure, Judged, median
from bench.stage import BOUND_S, Daemon, running_daemon
from betcode.client import NewConversation
from betcode.v1 import agent_pb2 as v1

_QUESTIONS = 300
_ASKER = Path(__file__).with_name("asker.py")

Times = list[tuple[float, float]]  # seconds to the screen, and to the agent


async def measure(effort: Effort) -> list[Figure]:
    number = effort.size(_QUESTIONS)
    program = _program(effort.root)
    direct: Times = []
    through: Times = []
    async with running_daemon(effort.root, claude_bin=program) as daemon:
        for run in range(effort.runs):
            effort.progress(f"run {run + 1} of {effort.runs}: {number} questions")
            direct += await anyio.to_thread.run_sync(_directly, program, number)
            through += await _through(daemon, number, effort.root)
    baseline = "reading and writing the agent's pipes"
    return [
        Figure(
            name,
            baseline,
            median([times[which] for times in direct]) * 1e3,
            median([times[which] for times in through]) * 1e3,
            5.0,
            "ms",
            Judged.AT_MOST,
            "committed first",
        )
        for which, name in enumerate(("an agent's question to a client's screen", "a client's answer to the agent"))
    ]


def _program(root: Path) -> Path:
    program = root / "asker"
    program.write_text(f"#!{sys.executable} -S\n{_ASKER.read_text()}")
    program.chmod(0o755)
    return program


def _directly(program: Path, number: int) -> Times:
    times: list[tuple[int, int]] = []
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(json.dumps({"type": "user", "uuid": "u", "message": {"content": str(number)}}) + "\n")
        reckoning = _Reckoning()
        for line in agent.stdout:
            now_ns = time.monotonic_ns()
            frame = json.loads(line)
            if frame["type"] == "control_request" and not reckoning.asked(frame["request"]["input"], now_ns):
                break
            if frame["type"] == "control_request":
                reckoning.answered_ns = time.monotonic_ns()
                agent.stdin.write('{"type":"control_response","response":{}}\n')
        agent.kill()
        times += reckoning.times(number)
    return [(shown / 1e9, heard / 1e9) for shown, heard in times]


async def _through(daemon: Daemon, number: int, directory: Path) -> Times:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(directory)}
    new = NewConversation(str(directory), provider="claude", environment=environment)
    session = await daemon.client.start_session(new)
    reckoning = _Reckoning()
    with anyio.fail_after(BOUND_S):
        accepted = await daemon.client.send(session, str(number))
        async with aclosing(daemon.client.follow(session, accepted.sequence)) as events:
            async for event in events:
                now_ns = time.monotonic_ns()
                if not event.HasField("permission_request"):
                    continue
                request = event.permission_request
                if not reckoning.asked(json.loads(request.input_json), now_ns):
                    break
                reckoning.answered_ns = time.monotonic_ns()
                await daemon.client.answer_permission(request.request_id, v1.ALLOW_ONCE)
    return [(shown / 1e9, heard / 1e9) for shown, heard in reckoning.times(number)]


class _Reckoning:
    """What the questions themselves say of the times between."""

    def __init__(self) -> None:
        self.answered_ns = 0
        self._shown: list[int] = []
        self._heard: list[int] = []

    def asked(self, given: dict[str, str], now_ns: int) -> bool:
        """Note one question; False for the last, which is not answered."""
        if heard_ns := int(given["heard_ns"]):
            self._heard.append(heard_ns - self.answered_ns)
        self._shown.append(now_ns - int(given["asked_ns"]))
        return given["command"] != "make 0"

    def times(self, number: int) -> list[tuple[int, int]]:
        return list(zip(self._shown[:number], self._heard[:number], strict=True))
