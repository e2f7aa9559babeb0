"""Sessions under ids that their clients chose: created once, attached to afterwards."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.domain.values.identifiers import SessionId, new_session_id, ulid_spelling
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Agent, Daemon, obedient_daemon
from support.daemon.stream import conversation, info_of, is_idle, text_of

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("ids")) as daemon:
        yield daemon


@pytest.fixture
async def agent(daemon: Daemon) -> AsyncIterator[Agent]:
    async with daemon.agent_service() as agent:
        yield agent


async def submitted(agent: Agent, **start: str) -> str:
    request = v1.AgentRequest(start=v1.StartConversation(**start))  # type: ignore[arg-type]
    return (await agent.Submit(v1.SubmitRequest(request=request))).session_id


async def refused(agent: Agent, **start: str) -> aio.AioRpcError:
    with pytest.raises(aio.AioRpcError) as error:
        await submitted(agent, **start)
    return error.value


@pytest.mark.behaviour("converse.open.unknown-id")
@pytest.mark.parametrize("spelling", ["random UUID", "upper case", "ULID"])
async def test_an_unknown_id_with_a_directory_creates_the_session_under_it(
    agent: Agent, tmp_path: Path, spelling: str
) -> None:
    session_id = str(uuid.uuid4()) if spelling != "ULID" else new_session_id()
    given = {"random UUID": session_id, "upper case": session_id.upper(), "ULID": ulid_spelling(SessionId(session_id))}[
        spelling
    ]
    async with conversation(agent, session_id=given, working_directory=str(tmp_path)) as stream:
        first = await stream.next()
        assert first is not None
        assert (first.sequence, first.session_info.session_id) == (1, session_id)
        assert not first.session_info.is_resumed
        assert first.session_info.working_directory == str(tmp_path)
        assert text_of(await stream.turn("say hello")) == "hello"
    for again in (session_id, given):  # with the same directory, also spelled otherwise, and without one
        for directory in (str(tmp_path), f"{tmp_path}/./", ""):
            async with conversation(agent, session_id=again, working_directory=directory) as stream:
                events = await stream.until(is_idle)
                assert events[0].session_info.is_resumed
                assert text_of(events) == "hello"
            assert await submitted(agent, session_id=again, working_directory=directory) == session_id


async def test_a_known_id_with_another_directory_is_refused_and_names_both(agent: Agent, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    session_id = await submitted(agent, session_id=str(uuid.uuid4()), working_directory=str(here))
    error = await refused(agent, session_id=session_id, working_directory=str(there))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    for named in (session_id, str(here), str(there)):
        assert named in (error.details() or "")
    assert info_of(error).metadata["session_id"] == session_id


async def test_asked_for_many_times_at_once_one_session_is_created(agent: Agent, tmp_path: Path) -> None:
    session_id = str(uuid.uuid4())
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await submitted(agent, session_id=session_id, working_directory=str(tmp_path)))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(ask)
    assert answers == [session_id] * 10
    listed = await agent.ListSessions(v1.ListSessionsRequest(working_directory=str(tmp_path)))
    assert [each.id for each in listed.sessions] == [session_id]


@pytest.mark.behaviour("converse.open.unknown-id")
@pytest.mark.parametrize("start", [{"session_id": str(uuid.uuid4())}, {"session_id": "nonsense"}])
async def test_without_a_directory_or_a_proper_id_it_is_not_found(agent: Agent, start: dict[str, str]) -> None:
    error = await refused(agent, **start)
    assert error.code() is grpc.StatusCode.NOT_FOUND
    if start["session_id"] == "nonsense":
        error = await refused(agent, **start, working_directory="/")
        assert error.code() is grpc.StatusCode.NOT_FOUND


async def test_a_new_session_cannot_have_two_ids(agent: Agent, tmp_path: Path) -> None:
    two = {"session_id": str(uuid.uuid4()), "new_session_id": new_session_id()}
    error = await refused(agent, **two, working_directory=str(tmp_path))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "new_session_id" in (error.details() or "")


async def test_a_directory_that_is_not_there_creates_nothing(agent: Agent) -> None:
    session_id = str(uuid.uuid4())
    error = await refused(agent, session_id=session_id, working_directory="/nonexistent/place")
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (await refused(agent, session_id=session_id)).code() is grpc.StatusCode.NOT_FOUND
