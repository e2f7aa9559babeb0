"""Nothing can be written when an agent is to be started: that is said, and nobody waits for it without a bound."""

from collections.abc import Awaitable
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from betcode.config.settings import EngineSettings
from betcode.domain.agents.commands import SendMessage
from betcode.domain.errors import StorageDegraded
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.sessions.budget import NO_BUDGET
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import Seq, SessionId, new_message_id, new_session_id
from betcode.engine import ClientName, Engine, open_engine
from betcode.providers.claude.provider import ClaudeProvider
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import agent_program
from support.daemon.runs import runs_in
from support.daemon.session import is_idle, settled_text
from support.storage.rows import locked_by_another_program, store_at, until

pytestmark = pytest.mark.anyio

BOUND_S = 60.0
ME = ClientName("me")


class LocksBeforeStart(ClaudeProvider):
    """Another program takes the database just before the agent's row is to be written."""

    def __init__(self, program: Path, database: Path, stack: ExitStack) -> None:
        super().__init__(program)
        self._database, self._stack = database, stack
        self.has_locked = False

    def launch(self, session: NewSession, context: LaunchContext) -> Launch:
        if not self.has_locked:
            self._stack.enter_context(locked_by_another_program(self._database))
            self.has_locked = True
        return super().launch(session, context)


async def until_idle(supervisor: Engine, session: SessionId) -> list[v1.AgentEvent]:
    seen: list[v1.AgentEvent] = []
    with anyio.fail_after(BOUND_S):
        async for batch in supervisor.watching.follow(session, Seq(0), ME):
            for event in map(v1.AgentEvent.FromString, batch.events):
                seen.append(event)
                if is_idle(event) and event.sequence:
                    return seen
    raise AssertionError("the stream ended")


async def refused(call: Awaitable[object]) -> None:
    with anyio.fail_after(BOUND_S), pytest.raises(StorageDegraded):
        await call


@pytest.mark.behaviour("recovery.sqlite.write-failure")
async def test_a_database_locked_when_an_agent_starts_is_said_and_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    new = NewSession(new_session_id(), "claude", str(tmp_path / "work"), environment=environment, created_ns=1)
    with ExitStack() as stack:
        provider = LocksBeforeStart(agent_program(tmp_path / "program"), tmp_path / "log.db", stack)
        async with (
            store_at(tmp_path / "log.db") as store,
            open_engine(store, {"claude": provider}, EngineSettings(), tmp_path / "runs") as supervisor,
        ):
            session = await supervisor.create(new)
            await supervisor.submit(session, SendMessage(new_message_id(), "say one"), ME)
            await until(lambda: provider.has_locked, BOUND_S)
            async with anyio.create_task_group() as tasks:  # all of them are there before anyone knows
                for call in (
                    supervisor.submit(session, SendMessage(new_message_id(), "say two"), ME),
                    supervisor.rename(session, "a name"),
                    supervisor.cancel_turn(session),
                    supervisor.compact(session),
                    supervisor.set_budget(session, NO_BUDGET),
                    supervisor.close(session),
                ):
                    tasks.start_soon(refused, call)
            assert "holds its lock" in supervisor.facts().degraded_reason
            assert not runs_in(tmp_path / "runs"), "no process without a row"
            stack.close()
            assert settled_text(await until_idle(supervisor, session)) == "one"
            assert supervisor.facts().degraded_reason == ""
            assert await supervisor.close(session)
