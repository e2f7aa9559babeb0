"""Followers that are cut off, stall or vanish: everyone else, and everyone who comes back, gets everything once."""

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.cutting_proxy import open_cutting_proxy
from support.daemon.process import Daemon
from support.patience import PATIENCE_S

if TYPE_CHECKING:
    from betcode.v1.agent_pb2_grpc import AgentServiceAsyncStub

QUICK_LADDER_MS = (1, 2, 5)
LAST_WORD = "the-end"
STEPS = 8

pytestmark = pytest.mark.anyio


async def a_session(daemon: Daemon, client: Client) -> str:
    return await client.start_session(NewConversation(str(daemon.work), provider="claude"))


async def history(stub: "AgentServiceAsyncStub", session: str) -> list[v1.AgentEvent]:
    """The whole finished conversation, as one undisturbed reader gets it."""
    got: list[v1.AgentEvent] = []
    async for batch in stub.Follow(v1.FollowRequest(session_id=session)):
        got.extend(event for event in batch.events if event.sequence)
        if ended(got[-1]):
            return got
    raise AssertionError("the stream ended before the conversation")


def ended(event: v1.AgentEvent) -> bool:
    return event.status_change.status == v1.IDLE


@pytest.mark.behaviour(
    "resume.exclusive-start", "resume.ascending", "resume.goes-live", "followers.attach.full-history"
)
async def test_a_stream_cut_after_every_single_event_misses_nothing(daemon: Daemon) -> None:
    async with open_client(daemon.paths) as client, daemon.agent_service() as stub:
        session = await a_session(daemon, client)
        await client.send(session, "count 60\nwait more\ncount 20\nsay " + LAST_WORD)
        got: list[v1.AgentEvent] = []
        with anyio.fail_after(5 * PATIENCE_S):  # a stream for every event
            while not got or not ended(got[-1]):
                after = got[-1].sequence if got else 0
                call = stub.ResumeSession(v1.ResumeSessionRequest(session_id=session, from_sequence=after))
                async for event in call:
                    if event.sequence:
                        got.append(event)
                        break
                call.cancel()
                if len(got) == 40:
                    (daemon.work / "more").touch()
            assert got == await history(stub, session)


@pytest.mark.behaviour("reconnect.from-last-sequence", "reconnect.deduplicates", "converse.reopen.replays-missed")
async def test_a_client_whose_connection_is_cut_at_every_event_sees_one_unbroken_conversation(
    daemon: Daemon, tmp_path: Path
) -> None:
    socket = tmp_path / "cut.sock"
    async with open_cutting_proxy(socket, daemon.paths.socket) as proxy, open_client(daemon.paths) as direct:
        session = await a_session(daemon, direct)
        # It goes on only after a cut, so that none of them finds everything delivered already.
        await direct.send(
            session, "\n".join(f"count 5\nwait step{step}" for step in range(STEPS)) + f"\nsay {LAST_WORD}"
        )
        got: list[v1.AgentEvent] = []
        step = 0
        paths = replace(daemon.paths, socket=socket)
        async with open_client(paths, ladder_ms=QUICK_LADDER_MS) as client:
            with anyio.fail_after(5 * PATIENCE_S):  # a connection made again for every event
                async with aclosing(client.follow(session, 0)) as events:
                    async for event in events:
                        if not event.sequence:
                            continue
                        got.append(event)
                        if ended(event):
                            break
                        proxy.cut()
                        if event.text_delta.text == "waiting":
                            (daemon.work / f"step{step}").touch()
                            step += 1
        assert proxy.connections > STEPS, "the connection was really cut"
        async with daemon.agent_service() as stub:
            assert got == await history(stub, session)


@pytest.mark.behaviour("followers.broadcast", "followers.slow.agent-never-blocked", "followers.slow.resync")
async def test_ten_followers_some_stalled_some_vanishing_and_the_rest_see_the_same(daemon: Daemon) -> None:
    async with open_client(daemon.paths) as client, daemon.agent_service() as stub:
        session = await a_session(daemon, client)
        seen: dict[int, list[v1.AgentEvent]] = {}
        request = v1.FollowRequest(session_id=session)

        async def faithful(name: int) -> None:
            seen[name] = await history(stub, session)

        async def vanishing() -> None:
            for batches in range(1, 30):
                call = stub.Follow(request)
                for _ in range(batches):
                    batch = await call.read()
                    assert isinstance(batch, v1.AgentEventBatch)
                    if any(ended(event) for event in batch.events):
                        break
                call.cancel()

        stalled = [stub.Follow(request) for _ in range(3)]
        with anyio.fail_after(PATIENCE_S):
            for call in stalled:
                await call.read()  # one batch, and never another
            async with anyio.create_task_group() as tasks:
                for name in range(4):
                    tasks.start_soon(faithful, name)
                for _ in range(3):
                    tasks.start_soon(vanishing)
                await client.send(session, "count 4000 200\nsay " + LAST_WORD)
            whole = await history(stub, session)
            assert len(whole) > 4000
            assert [event.sequence for event in whole] == list(range(1, len(whole) + 1))
            for got in seen.values():
                assert got == whole
            for call in stalled:  # those who wake up after all have missed nothing either
                late: list[v1.AgentEvent] = []
                while not late or not ended(late[-1]):
                    batch = await call.read()
                    assert isinstance(batch, v1.AgentEventBatch)
                    late.extend(event for event in batch.events if event.sequence)
                assert [event.sequence for event in late] == [event.sequence for event in whole][-len(late) :]
