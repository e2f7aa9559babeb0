"""An engine in this process with two sessions, and an error that one of them meets at a named place."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from betcode.config.settings import EngineSettings
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.values.identifiers import SessionId
from betcode.engine import open_engine
from betcode.providers.claude.provider import ClaudeProvider
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import agent_program, becomes_true
from support.daemon.runs import RunOnDisk, runs_in
from support.engine.engine import EngineSession, a_session
from support.storage.rows import store_at

QUICK = CrashPolicy(first_wait_s=0.02, longest_wait_s=0.1, limit=3)


class InjectedError(Exception):
    """What the test raises."""


@dataclass
class Injection:
    """Raises each time that the session reaches the place, while it is on."""

    place: str
    session: str = ""
    is_on: bool = True
    hits: int = 0

    def __call__(self, place: str, session_id: str = "", /) -> None:
        if self.is_on and place == self.place and session_id == self.session:
            self.hits += 1
            raise InjectedError(f"injected at {place}")


@dataclass
class Pair:
    """The session that meets the error, and one that must not notice."""

    faulty: EngineSession
    healthy: EngineSession
    injection: Injection
    healthy_turns: list[str] = field(default_factory=list)

    async def reached(self) -> None:
        await becomes_true(lambda: self.injection.hits > 0)


@dataclass
class FaultyEngine:
    """One state directory; `opened` starts an engine on it, as often as a test wants."""

    root: Path
    injection: Injection
    settings: EngineSettings
    sessions: list[SessionId] = field(default_factory=list)

    @asynccontextmanager
    async def opened(self, binding: SessionBinding | None = None) -> AsyncIterator[Pair]:
        provider = ClaudeProvider(agent_program(self.root / "program"))
        works = [self.root / name for name in ("faulty", "healthy")]
        async with (
            store_at(self.root / "log.db") as store,
            open_engine(
                store,
                {"claude": provider},
                self.settings,
                self.root / "runs",
                faults=self.injection,
                crashes=QUICK,
            ) as supervisor,
        ):
            if not self.sessions:
                for work in works:
                    work.mkdir()
                    self.sessions.append(
                        await supervisor.create(a_session(work), binding=binding if work is works[0] else None)
                    )
                self.injection.session = self.sessions[0]
            faulty, healthy = (
                EngineSession(supervisor, store, session, work)
                for session, work in zip(self.sessions, works, strict=True)
            )
            yield Pair(faulty, healthy, self.injection)

    async def nothing_runs(self) -> None:
        await becomes_true(lambda: not any(run.alive for run in runs_in(self.root / "runs")))


def is_idle(event: v1.AgentEvent) -> bool:
    return event.status_change.status == v1.IDLE


def is_waiting(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


def is_failure(event: v1.AgentEvent) -> bool:
    return event.error.code == "SESSION_FAILED"


async def open_turn(pair: Pair) -> None:
    await pair.faulty.say("wait go")
    await pair.faulty.until(is_waiting)


async def assert_failed(engine: EngineSession) -> None:
    failure = (await engine.until(is_failure))[-1].error
    assert failure.is_fatal
    assert f"betcode session delete {engine.session}" in failure.message
    assert "injected at" in failure.message
    await becomes_true(lambda: not is_pending(engine))
    standing = await engine.supervisor.lifecycle.standing(engine.session)
    assert standing.phase == "failed"
    assert standing.bound.binding.failure == failure.message
    assert not await engine.store.open_inputs(standing.row.key)
    run = await engine.store.newest_run(standing.row.key)
    assert run is None or run.ended_ns
    if run is not None:
        on_disk = RunOnDisk(engine.work.parent / "runs" / run.run_id)
        await becomes_true(lambda: not on_disk.alive)


def is_pending(engine: EngineSession) -> bool:
    live = engine.supervisor._registry.live.get(engine.session)
    return live is not None and live.failure.is_pending


async def says(engine: EngineSession, words: str) -> None:
    await engine.say(f"say {words}")
    await engine.until(lambda event: event.text_delta.is_complete and event.text_delta.text == words)
    await engine.until(is_idle)
