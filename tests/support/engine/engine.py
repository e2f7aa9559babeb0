"""An engine in this process, with agents of its own, and one session of it."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from betcode.config.paths import Paths
from betcode.config.settings import EngineSettings
from betcode.domain.agents.commands import SendMessage
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.store.rows import NewSession, PromptRow
from betcode.domain.values.identifiers import MessageId, Seq, SessionId, new_session_id, time_ordered_uuid
from betcode.engine import ClientName, Engine, PermissionAnswer, open_engine
from betcode.providers.claude.provider import ClaudeProvider
from betcode.server.convert import views
from betcode.storage import SqliteStore
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import agent_program, becomes_true
from support.daemon.runs import runs_in
from support.patience import PATIENCE_S
from support.storage.rows import store_at

ME = ClientName("me", peer="pid 1: me")


@dataclass
class EngineSession:
    """An engine in this process, and one session of it."""

    supervisor: Engine
    store: SqliteStore
    session: SessionId
    work: Path
    events: list[v1.AgentEvent] = field(default_factory=list)

    async def say(self, text: str) -> str:
        message = SendMessage(MessageId(time_ordered_uuid()), text)
        await self.supervisor.submit(self.session, message, ME)
        return message.message_id

    async def until(self, wanted: Callable[[v1.AgentEvent], bool]) -> list[v1.AgentEvent]:
        after = Seq(self.events[-1].sequence if self.events else 0)
        new: list[v1.AgentEvent] = []
        with anyio.fail_after(PATIENCE_S):
            async with aclosing(self.supervisor.watching.follow(self.session, after, ME)) as batches:
                async for batch in batches:
                    for event in map(v1.AgentEvent.FromString, batch.events if batch.first else ()):
                        new.append(event)
                        self.events.append(event)
                        if wanted(event):
                            return new
        raise AssertionError("the stream ended")

    async def asked(self) -> v1.PermissionRequest:
        """The next permission that the agent asks for."""
        return (await self.until(lambda event: event.HasField("permission_request")))[-1].permission_request

    async def answer(self, request_id: str, decision: v1.PermissionDecision.ValueType, message: str = "") -> bool:
        """Whether the same had been answered before."""
        answer = PermissionAnswer(request_id, decision, message)
        return (await self.supervisor.answers.permission(answer, ME)).before

    async def row(self, request_id: str) -> PromptRow:
        found = await self.store.find_prompt(request_id)
        assert found is not None
        return found[1]

    async def told(self) -> v1.SessionSummary:
        """The session as clients see it in their lists."""
        return views.summary(await self.supervisor.summary(self.session))

    async def another(self) -> "EngineSession":
        """Another session of the same engine."""
        new = a_session(self.work)
        return EngineSession(self.supervisor, self.store, await self.supervisor.create(new), self.work)

    @property
    def agents(self) -> int:
        return len(self.pids)

    @property
    def pids(self) -> list[int]:
        """Of all agents so far."""
        return [int(pid) for pid in (self.work / "agent.pids").read_text().split()]

    def kill_agent(self) -> None:
        os.kill(self.pids[-1], signal.SIGKILL)

    @property
    def ran(self) -> int:
        """How often the tool did its work."""
        path = self.work / "ran.txt"
        return len(path.read_text().splitlines()) if path.exists() else 0


def a_session(work: Path) -> NewSession:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(work.parent)}
    return NewSession(new_session_id(), "claude", str(work), environment=environment, created_ns=1)


@asynccontextmanager
async def engine(
    root: Path,
    policy: CrashPolicy,
    session: SessionId | None = None,
    *,
    program: Path | None = None,
    paths: Paths | None = None,
    kind: type[ClaudeProvider] = ClaudeProvider,
) -> AsyncIterator[EngineSession]:
    """With a new session, or with one of an engine before it; that one is closed in the end."""
    work = root / "work"
    work.mkdir(exist_ok=True)
    provider = kind(program or agent_program(root / "program"))
    async with (
        store_at(root / "log.db") as store,
        open_engine(
            store, {"claude": provider}, EngineSettings(), root / "runs", crashes=policy, paths=paths
        ) as supervisor,
    ):
        yield EngineSession(supervisor, store, session or await supervisor.create(a_session(work)), work)
        if session is not None:
            await supervisor.close(session)
    await becomes_true(lambda: not any(run.alive for run in runs_in(root / "runs")))  # a holder leaves last
