"""ReadEvents: history backwards in pages, of sessions that work, rest or are closed."""

import os
import uuid
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Agent, Daemon
from support.daemon.stream import conversation, finished_session, history, info_of, is_idle, kind_of
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def page(agent: Agent, session_id: str, before: int = 0, limit_bytes: int = 0) -> v1.ReadEventsResponse:
    request = v1.ReadEventsRequest(session_id=session_id, before_sequence=before, limit_bytes=limit_bytes)
    with anyio.fail_after(PATIENCE_S):
        return await agent.ReadEvents(request)


async def backwards(agent: Agent, session_id: str, limit_bytes: int, before: int = 0) -> list[v1.AgentEvent]:
    """Every page joined to those behind it."""
    found: list[v1.AgentEvent] = []
    while True:
        read = await page(agent, session_id, before, limit_bytes)
        assert read.events, "a page without events says that there is more"
        found[:0] = read.events
        if not read.has_more:
            return found
        before = read.events[0].sequence


async def test_pages_joined_are_the_whole_history(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path), "count 200\ncount 3 300000")
    whole = await history(agent, session_id, is_idle)
    for limit_bytes in (1, 100, 5_000, 300_000, 0, 2**32 - 1):
        assert await backwards(agent, session_id, limit_bytes) == whole
    for before in (2, 3, 100, len(whole), len(whole) + 1, 10**6, 2**64 - 1):
        assert await backwards(agent, session_id, 5_000, before) == whole[: before - 1]


async def test_a_page_is_no_longer_than_was_asked_for(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path), "count 6000\ncount 1 200000")
    whole = await history(agent, session_id, is_idle)
    assert max(event.ByteSize() for event in whole) > 100_000
    [large] = [event for event in whole if event.ByteSize() > 100_000 and not event.text_delta.is_complete]
    assert list((await page(agent, session_id, large.sequence + 1, 1_000)).events) == [large]
    for limit_bytes in (200, 1_000, 20_000):
        read = await page(agent, session_id, large.sequence, limit_bytes)
        assert limit_bytes - 100 < sum(event.ByteSize() for event in read.events) <= limit_bytes
    most = await page(agent, session_id, large.sequence, 2**32 - 1)
    assert (len(most.events), most.has_more) == (4096, True)


async def test_the_first_event_has_none_before_it(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    read = await page(agent, session_id, 1)
    assert (list(read.events), read.has_more, read.compacted_before) == ([], False, 0)
    assert not read.HasField("session_info")


async def test_the_newest_page_has_the_session_state(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    info = (await page(agent, session_id, limit_bytes=1)).session_info
    assert (info.session_id, info.working_directory, info.model) == (session_id, str(tmp_path), "obedient-1")
    assert list(info.tools) == ["Bash"]


async def test_a_closed_session_can_be_read(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    await agent.CloseSession(v1.CloseSessionRequest(session_id=session_id))
    whole = await backwards(agent, session_id, 200)
    assert [event.sequence for event in whole] == list(range(1, len(whole) + 1))


async def test_a_page_of_a_streaming_session_ends_where_a_follower_continues(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.say("count 500\nwait go\ncount 3000")
        await stream.until(lambda event: event.text_delta.text == "waiting")
        (tmp_path / "go").touch()
        read = await page(agent, stream.session_id)
        first, newest = read.events[0].sequence, read.events[-1].sequence
        rest = await history(agent, stream.session_id, is_idle, newest)
        await stream.until(is_idle)
        whole = [event for event in stream.events if event.sequence]
    assert [*read.events, *rest] == whole[first - 1 :]
    assert {kind_of(event) for event in rest} >= {"turn_complete"}


@pytest.mark.behaviour("error.status.not-found")
async def test_an_unknown_session_is_not_found(agent: Agent) -> None:
    for named, status, reason in (
        (str(uuid.uuid4()), grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND"),
        ("nonsense", grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND"),
        ("", grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST"),
    ):
        with pytest.raises(aio.AioRpcError) as error:
            await page(agent, named)
        assert (error.value.code(), info_of(error.value).reason) == (status, reason)


async def test_the_agents_commands_are_known_to_who_attaches(daemon: Daemon, agent: Agent, tmp_path: Path) -> None:
    start = v1.StartConversation(
        working_directory=str(tmp_path),
        provider="demo",
        environment={"PATH": "/usr/bin:/bin", "BETCODE_DEMO_SPEED": "0"},
    )
    async with conversation(agent, start) as stream:
        await stream.turn("hello")
        session_id = stream.session_id
    known = {command.name: command.description for command in (await page(agent, session_id)).session_info.commands}
    assert known["tour"]
    async with conversation(agent, session_id=session_id, from_sequence=5) as stream:
        first = await stream.next()
        assert first is not None
        assert {command.name for command in first.session_info.commands} == set(known)
    async with conversation(agent, start) as stream:  # nobody has spoken there yet
        await stream.until("session_info")
        info = (await page(agent, stream.session_id)).session_info
    assert {command.name for command in info.commands} == set(known)
    assert not info.tools
    start.working_directory = str(daemon.work)
    async with conversation(agent, start) as stream:
        await stream.until("session_info")
        assert not (await page(agent, stream.session_id)).session_info.commands


async def test_the_current_branch_is_reported_without_git(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    session_id = await finished_session(agent, str(tmp_path / "inside"))

    async def branch() -> str:
        return (await page(agent, session_id, limit_bytes=1)).session_info.branch

    assert await branch() == ""
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/feature/one\n")  # all that is looked at
    assert await branch() == "feature/one"
    (git / "HEAD").write_text("1f7e0f3a4f0d6e2b7c9a5d8e3b2a1c0f9e8d7c6b\n")
    assert await branch() == ""
    (git / "HEAD").unlink()
    os.mkfifo(git / "HEAD")
    assert await branch() == ""
