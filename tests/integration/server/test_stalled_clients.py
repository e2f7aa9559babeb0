"""What a client that reads nothing costs, counted inside the server: not even a look at the log."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from betcode.domain.agents.commands import SendMessage
from betcode.domain.store.rows import Batch, NewSession
from betcode.domain.values.identifiers import MessageId, Seq, SessionId, SessionKey, new_session_id, time_ordered_uuid
from betcode.engine import ClientName, Engine
from betcode.engine.follow.tail import Tail
from betcode.storage import SqliteStore
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.daemon.in_process import all_served
from support.daemon.process import Agent
from support.daemon.stream import is_idle

pytestmark = pytest.mark.anyio
BOUND_S = 60.0
LINES, TEXT_BYTES = 1_500, 1_000  # a turn is some 3 MB: many times what fits between a server and its client
SETTLED_AFTER = 5  # round trips without a look
# Where the network is quick, a client has the server send some megabytes ahead of what it reads.
SMALL_WINDOW = (("grpc.http2.bdp_probe", 0),)


class Looks:
    """How often any task but the test's own looked for events in memory, waited for them or read them from the log."""

    def __init__(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_others = 0
        self.by_test = 0
        test = asyncio.current_task()
        since, change, read_events = Tail.since, Tail.change, store.read_events

        def note() -> None:
            if asyncio.current_task() is test:
                self.by_test += 1
            else:
                self.by_others += 1

        def counted_since(tail: Tail, after: Seq, limit_bytes: int) -> Batch | None:
            note()
            return since(tail, after, limit_bytes)

        async def counted_change(tail: Tail) -> None:
            note()
            await change(tail)

        async def counted_read(session: SessionKey, after: Seq, limit_bytes: int) -> Batch | None:
            note()
            return await read_events(session, after, limit_bytes)

        monkeypatch.setattr(Tail, "since", counted_since)
        monkeypatch.setattr(Tail, "change", counted_change)
        monkeypatch.setattr(store, "read_events", counted_read)


@dataclass
class Served:
    """A server in this process, one session of a talkative agent, and a connection."""

    engine: Engine
    session: SessionId
    agent: Agent
    looks: Looks
    heard: int = 0

    async def turn(self) -> None:
        """One whole turn, heard to its end without gRPC."""
        message = SendMessage(MessageId(str(time_ordered_uuid())), "go")
        await self.engine.submit(self.session, message, ClientName("reader"))
        following = self.engine.watching.follow(self.session, Seq(self.heard), ClientName("reader"))
        async with aclosing(following) as batches:
            async for batch in batches:
                self.heard = batch.last
                if any(is_idle(v1.AgentEvent.FromString(data)) for data in batch.events[-8:]):
                    return

    async def settled(self) -> None:
        """Return when whatever was under way to a client has gone as far as it can go."""
        quiet, looks = 0, self.looks.by_others
        while quiet < SETTLED_AFTER:
            await self.agent.ListPending(v1.ListPendingRequest(session_id=self.session))
            quiet, looks = (quiet + 1 if self.looks.by_others == looks else 0), self.looks.by_others


@asynccontextmanager
async def served(root: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    directions = {"BETCODE_DEMO_FLOOD": str(LINES), "BETCODE_DEMO_BYTES": str(TEXT_BYTES)}
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(root), **directions}
    async with all_served(root, options=SMALL_WINDOW) as everything:
        engine = everything.engine
        new = NewSession(new_session_id(), "demo", str(root), environment=environment, created_ns=1)
        session = await engine.create(new)
        yield Served(engine, session, AgentServiceStub(everything.channel), Looks(everything.store, monkeypatch))
        await engine.close(session)


@pytest.mark.behaviour("followers.slow.agent-never-blocked", "followers.slow.bounded", "followers.slow.resync")
async def test_a_client_that_takes_nothing_is_not_woken_and_nothing_is_read_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with anyio.fail_after(BOUND_S):
        async with served(tmp_path, monkeypatch) as here:
            stalled = here.agent.Follow(v1.FollowRequest(session_id=here.session))
            first = await stalled.read()
            assert isinstance(first, v1.AgentEventBatch)
            await here.turn()  # more than it can be sent
            await here.settled()
            before, heard, own = here.looks.by_others, here.heard, here.looks.by_test
            await here.turn()
            assert here.heard - heard > LINES
            assert here.looks.by_test - own > 10, "who reads is woken"
            assert here.looks.by_others == before
            got = [event.sequence for event in first.events]
            while got[-1] < here.heard:
                batch = await stalled.read()
                assert isinstance(batch, v1.AgentEventBatch)
                got += [event.sequence for event in batch.events if event.sequence]
            assert got == list(range(1, got[-1] + 1)), "and it misses nothing"
            stalled.cancel()
