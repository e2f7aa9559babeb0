"""What betcode adds to an answer of each kind of agent, and what our own agent programs hold in memory.

The agent's own time is read from its journal: from the record of the message to that of the first word. What is
measured is from the call that sends the message to the event, on a stream that was there before.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from bench.claw_gateway import SAYS_A_WORD, Gateway, gateway
from bench.figure import Effort, Figure, Judged, median
from bench.model_server import model_server
from bench.stage import BOUND_S, Daemon, resident_bytes, running_daemon
from betcode.client import NewConversation
from betcode.domain.agents.provider_config import PREFIX
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.holder.journal_reader import JournalReader
from betcode.holder.launch import holder_pids
from betcode.holder.platform import descendants

_ANSWERS = 60
_ANSWERER = Path(__file__).with_name("answerer.py")
_READ_BYTES = 4 * 1024 * 1024
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    asked: bytes  # in the line of a message
    said: bytes  # in the line of the first word
    config: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    own_mb: float = 0.0  # how much it may hold, where the program is ours
    message: str = "again"


_KINDS = (
    _Kind("claude", b'"type":"user"', b'"text_delta"'),
    _Kind("codex", b'"turn/start"', b"agentMessage/delta"),
    _Kind("acp", b'"session/prompt"', b"agent_message_chunk", {"profile": "bench"}),
    _Kind("openai", b'"session/prompt"', b"agent_message_chunk", model="bench", own_mb=120),
    _Kind("openclaw", b'"session/prompt"', b"agent_message_chunk", own_mb=80, message=SAYS_A_WORD),
    _Kind("demo", b'"type":"user"', b'"text_delta"', own_mb=40),
)


async def measure(effort: Effort) -> list[Figure]:
    figures: list[Figure] = []
    memory: list[Figure] = []
    bare_mb = _bare_mb()
    with model_server() as base_url, gateway(effort.root / "gateway") as found:
        program = _set_up(effort.root, base_url, found)
        async with running_daemon(effort.root, claude_bin=program) as daemon:
            for kind in _KINDS:
                effort.progress(kind.name)
                before = {run.name for run in daemon.paths.runs.iterdir()}
                seen = await _answers(daemon, kind, effort.root, effort.size(_ANSWERS))
                (run,) = (each for each in daemon.paths.runs.iterdir() if each.name not in before)
                own = list(_agents_own(_records(run), kind))
                figures.append(_added(kind, own, seen))
                if kind.own_mb:
                    memory.append(_held(kind.name, bare_mb, _resident_mb(daemon), kind.own_mb))
    return [*figures, *memory]


def _added(kind: _Kind, own: list[float], seen: list[float]) -> Figure:
    return Figure(
        f"message to first word, {kind.name}, median",
        "the agent's own: message in, word out",
        median(own) * 1e3,
        median(seen) * 1e3,
        10.0,
        "ms",
        Judged.OVER_BASELINE,
        "committed twice in between",
    )


def _held(name: str, bare_mb: float, held_mb: float, target_mb: float) -> Figure:
    return Figure(
        f"resident memory, our agent program {name}", "an interpreter alone", bare_mb, held_mb, target_mb, "MB"
    )


def _set_up(root: Path, base_url: str, found: Gateway) -> Path:
    program = root / "answerer"
    program.write_text(f"#!{sys.executable} -S\n{_ANSWERER.read_text()}")
    program.chmod(0o755)
    (root / "config").mkdir(exist_ok=True)
    agents = {
        "codex": {"path": str(program)},
        "acp": {"commands": {"bench": [str(program)]}},
        "openai": {"base_url": base_url},
        "openclaw": {"url": found.url, "token_file": str(found.token_file)},
    }
    (root / "config" / "settings.json").write_text(json.dumps({"agents": agents}))
    (root / ".codex").mkdir()
    (root / ".codex" / "auth.json").write_text('{"OPENAI_API_KEY": "bench"}')  # without a login it would be refused
    return program


async def _answers(daemon: Daemon, kind: _Kind, directory: Path, times: int) -> list[float]:
    """Of one session whose agent is there already: its first answer is not counted."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(directory), "BETCODE_DEMO_FLOOD": "1"}
    config = {PREFIX + key: value for key, value in kind.config.items()}
    new = NewConversation(
        str(directory), provider=kind.name, model=kind.model, metadata=config, environment=environment
    )
    session = await daemon.client.start_session(new)
    took: list[float] = []
    with anyio.fail_after(BOUND_S):
        accepted = await daemon.client.send(session, kind.message)
        follower = daemon.client.follow(session, accepted.sequence)
        async with aclosing(follower) as events, anyio.create_task_group() as tasks:
            began = 0.0
            async for event in events:
                if event.text_delta.text and began:
                    took.append(time.perf_counter() - began)
                    began = 0.0
                if event.HasField("turn_complete"):
                    if len(took) >= times:
                        return took
                    began = time.perf_counter()
                    tasks.start_soon(daemon.client.send, session, kind.message)
    raise RuntimeError("the stream ended before the turns")


def _records(directory: Path) -> Iterator[Record]:
    reader = JournalReader(directory, 0, line_limit_bytes=_READ_BYTES)
    while more := reader.read(_READ_BYTES):
        yield from more


def _agents_own(records: Iterator[Record], kind: _Kind) -> Iterator[float]:
    """Between the message's line in the journal and the first word's, by the holder's clock."""
    asked: Record | None = None
    for record in records:
        line = record.data.replace(b'": ', b'":')
        if record.kind is RecordKind.IN and kind.asked in line:
            asked = record
        elif asked and record.kind is RecordKind.OUT and kind.said in line:
            yield (record.mono_ns - asked.mono_ns) / 1e9
            asked = None


def _resident_mb(daemon: Daemon) -> float:
    """The agent that was started last."""
    agents = [one.pid for holder in holder_pids(daemon.paths.runs) for one in descendants(holder)]
    return resident_bytes(max(agents)) / _MB


def _bare_mb() -> float:
    """What an interpreter holds that waits for a line."""
    argv = [sys.executable, "-I", "-c", "import json, sys; print(flush=True); sys.stdin.readline()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        held = resident_bytes(process.pid) / _MB
        process.kill()
        return held
