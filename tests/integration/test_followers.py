"""Followers in a crowd, and what stands on the board."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from betcode.config.settings import EngineSettings
from betcode.domain.errors import NoInputLock
from betcode.domain.store.rows import Batch, SessionState
from betcode.domain.values.identifiers import Seq
from betcode.engine.agents.memory import AgentMemory
from betcode.engine.agents.slots import Slots
from betcode.engine.client_name import NOBODY, ClientName
from betcode.engine.context import EngineContext
from betcode.engine.core import events
from betcode.engine.follow import followers
from betcode.engine.follow.connection_store import ConnectionStore
from betcode.engine.follow.followers import CROWD, PRESENCE_EVERY_S, Followers
from betcode.engine.shell.input_lock_service import InputLockService
from betcode.engine.shell.session_tasks import SessionTasks
from betcode.engine.shell.writer import SessionWriter
from betcode.v1 import agent_pb2 as v1
from support.patience import PATIENCE_S
from support.storage.rows import making, store_at

pytestmark = pytest.mark.anyio


class Crowd:
    """Followers of one session."""

    def __init__(self, context: EngineContext, writer: SessionWriter) -> None:
        self.context = context
        self.writer = writer
        tasks = SessionTasks(
            context.tasks, writer.new.session_id, context.faults, lambda place, error: pytest.fail(f"{place}: {error}")
        )
        self.input_lock = InputLockService(context, writer, tasks)
        self.followers = Followers(context, writer, self.input_lock, tasks)

    def follow(self, name: str) -> AsyncGenerator[Batch, None]:
        return self.followers.follow(self.context.store, Seq(0), ClientName(name), lambda: False)

    async def say(self, text: str) -> None:
        await self.writer.write([events.notice(v1.NOTICE_KIND_AGENT, text)])


@asynccontextmanager
async def a_crowd(path: Path) -> AsyncIterator[Crowd]:
    async with store_at(path / "betcode.db") as store, anyio.create_task_group() as tasks:
        new = making()
        await store.create_session(new, SessionState(epoch=store.epoch), ())
        row = await store.find_session(new.session_id)
        assert row is not None
        settings = EngineSettings()
        context = EngineContext(store, {}, settings, path, tasks, Slots(5, 50), AgentMemory(1), ConnectionStore(store))
        yield Crowd(context, SessionWriter(store, row))
        tasks.cancel_scope.cancel()


async def test_in_a_crowd_only_who_types_is_told_without_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followers, "TICK_S", 10_000.0)
    heard: dict[str, list[int]] = {name: [] for name in ("typist", *(f"guest-{n}" for n in range(CROWD)))}
    changed = anyio.Event()

    async def listen(crowd: Crowd, name: str) -> None:
        nonlocal changed
        async with aclosing(crowd.follow(name)) as batches:
            async for batch in batches:
                if batch.first:
                    heard[name].append(batch.first)
                before, changed = changed, anyio.Event()
                before.set()

    async def until(wanted: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE_S):
            while not wanted():
                await changed.wait()

    async with a_crowd(tmp_path) as crowd, anyio.create_task_group() as tasks:
        for name in heard:
            tasks.start_soon(listen, crowd, name)
        await until(lambda: len(crowd.followers.present) == len(heard))
        with crowd.input_lock.typing(ClientName("typist")):
            pass
        for number in (1, 2, 3):
            await crowd.say("something")
            await until(lambda number=number: number in heard["typist"])  # type: ignore[misc]
            await until(lambda: all(heard.values()))
        assert heard == {name: [1, 2, 3] if name == "typist" else [1] for name in heard}
        tasks.cancel_scope.cancel()


async def test_a_stream_begins_with_history_and_then_says_how_things_stand(tmp_path: Path) -> None:
    async with a_crowd(tmp_path) as crowd:
        await crowd.say("one")
        async with aclosing(crowd.follow("ann")) as ann, aclosing(crowd.follow("ben")) as ben:
            assert (await anext(ann)).first == 1
            with crowd.input_lock.typing(ClientName("ann", "phone")):
                pass
            assert (await anext(ben)).first == 1
            told = [v1.AgentEvent.FromString(data) for data in (await anext(ben)).events]
            assert [event.sequence for event in told] == [0, 0]
            assert {event.input_lock.holder_client_id for event in told} == {"ann", ""}
            assert max(len(event.presence.clients) for event in told) >= 1


async def test_a_hundred_that_come_and_go_are_told_together(tmp_path: Path) -> None:
    async with a_crowd(tmp_path) as crowd, AsyncExitStack() as stack:
        await crowd.say("one")
        began, before = anyio.current_time(), crowd.writer.tail.posted
        for number in range(100):
            guest = await stack.enter_async_context(aclosing(crowd.follow(f"guest-{number}")))
            await anext(guest)
        await stack.aclose()
        lasted = anyio.current_time() - began
        assert crowd.writer.tail.posted - before <= 4 + lasted / PRESENCE_EVERY_S


async def test_who_is_not_here_holds_nothing(tmp_path: Path) -> None:
    async with a_crowd(tmp_path) as crowd:
        with crowd.input_lock.typing(ClientName("ghost")):
            pass
        assert crowd.input_lock.holder == NOBODY
        with crowd.input_lock.here(ClientName("ann")):
            with crowd.input_lock.typing(ClientName("ann")):
                pass
            with pytest.raises(NoInputLock), crowd.input_lock.typing(ClientName("ghost")):
                pass
        assert crowd.input_lock.holder == NOBODY
