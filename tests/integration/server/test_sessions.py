"""Lists of sessions, bad requests, limits: what unary calls answer."""

import json
import os
from collections.abc import Awaitable
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.domain.values.identifiers import new_message_id, new_session_id
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Agent, Daemon, obedient_daemon
from support.daemon.stream import conversation, finished_session, history, info_of, is_idle, kinds, message, text_of
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def listed(agent: Agent, **fields: object) -> v1.ListSessionsResponse:
    return await agent.ListSessions(v1.ListSessionsRequest(**fields))  # type: ignore[arg-type]


async def made(agent: Agent, directory: Path, **fields: object) -> str:
    start = v1.StartConversation(working_directory=str(directory), **fields)  # type: ignore[arg-type]
    return (await agent.Submit(v1.SubmitRequest(request=v1.AgentRequest(start=start)))).session_id


async def refusal(call: Awaitable[object]) -> aio.AioRpcError:
    with pytest.raises(aio.AioRpcError) as error, anyio.fail_after(PATIENCE_S):
        await call
    return error.value


@pytest.mark.behaviour("session.list.all", "session.list.paging", "session.list.by-directory")
async def test_pages_hold_every_session_once_and_the_total_is_true(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path / "d") as daemon, daemon.agent_service() as agent:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        ids = [await made(agent, tmp_path / ("a" if number % 3 else "b")) for number in range(13)]
        whole = await listed(agent)
        assert whole.total == 13
        assert [each.id for each in whole.sessions] == list(reversed(ids))
        pages = [await listed(agent, limit=5, offset=offset) for offset in (0, 5, 10, 15)]
        assert [page.total for page in pages] == [13] * 4
        assert [each.id for page in pages for each in page.sessions] == [each.id for each in whole.sessions]
        of_b = await listed(agent, working_directory=f"{tmp_path}/b/")
        assert of_b.total == 5
        assert {each.working_directory for each in of_b.sessions} == {str(tmp_path / "b")}
        assert (await listed(agent, working_directory=str(tmp_path / "c"))).total == 0


@pytest.mark.behaviour("session.list.counts", "session.list.times", "session.list.preview", "session.list.status")
@pytest.mark.behaviour("session.states")
async def test_a_summary_reports_turns_and_usage(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, daemon.agent_service() as agent:

        async def only() -> v1.SessionSummary:
            (summary,) = (await listed(agent)).sessions
            return summary

        async with conversation(agent, working_directory=str(daemon.work), metadata={"a": "b"}) as stream:
            await stream.next()
            new = await only()
            assert (new.status, new.message_count, new.last_sequence, new.run_state) == ("new", 0, 1, "")
            assert new.created_at.ToNanoseconds() > 0
            await stream.turn("say first answer")
            await stream.say("wait go\nsay second answer")
            await stream.until(lambda event: event.text_delta.text == "waiting")
            assert (await only()).status == "active"
            assert (await listed(agent, statuses=["active"])).total == 1
            assert (await listed(agent, statuses=["active"] * 100_000)).total == 1
            assert (await listed(agent, statuses=["idle", "closed"])).total == 0
            (daemon.work / "go").touch()
            await stream.until(is_idle)
            idle = await only()
        assert (idle.status, idle.run_state, idle.provider) == ("idle", "running", "claude")
        assert idle.message_count == 4
        assert (idle.total_input_tokens, idle.total_output_tokens) == (200, 40)
        assert idle.total_cost_usd == pytest.approx(0.5)
        assert idle.last_message_preview.startswith("waitingsecond answer"[:7])
        assert idle.updated_at.ToNanoseconds() > new.updated_at.ToNanoseconds()
        assert idle.created_at == new.created_at
        assert dict(idle.metadata) == {"a": "b"}
        await agent.CloseSession(v1.CloseSessionRequest(session_id=idle.id))
        closed = await only()
        assert closed.status == "closed"
        await daemon.restart()
        async with daemon.agent_service() as after:
            (again,) = (await listed(after)).sessions
        assert again == closed


@pytest.mark.behaviour("session.info.context-usage")
async def test_the_used_share_of_the_context_is_reported(agent: Agent, tmp_path: Path) -> None:
    events = await history(agent, await finished_session(agent, str(tmp_path)), is_idle)
    infos = [event.session_info for event in events if event.session_info.session_id]
    # The agent reported 100 tokens in and 20 out, of a window of 1000.
    assert 10 <= infos[-1].context_usage_percent <= 12


@pytest.mark.behaviour("error.status.invalid-argument")
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"limit": 100_000}, "at most"),
        ({"statuses": ["asleep"]}, "asleep"),
        ({"working_directory": "relative/path"}, "not absolute"),
    ],
)
async def test_a_wrong_list_request_is_refused(agent: Agent, fields: dict[str, object], says: str) -> None:
    error = await refusal(agent.ListSessions(v1.ListSessionsRequest(**fields)))  # type: ignore[arg-type]
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert says in (error.details() or "")


def missing(directory: Path) -> str:
    return str(directory / "missing")


def a_file(directory: Path) -> str:
    (directory / "file").touch()
    return str(directory / "file")


@pytest.mark.parametrize(
    ("start", "says"),
    [
        (lambda d: v1.StartConversation(working_directory=missing(d)), "does not exist"),
        (lambda d: v1.StartConversation(working_directory=a_file(d)), "not a directory"),
        (lambda _: v1.StartConversation(working_directory="relative"), "not absolute"),
        (lambda _: v1.StartConversation(), "working directory"),
        (lambda d: v1.StartConversation(working_directory=str(d), model="--dangerous"), "dash"),
        (lambda d: v1.StartConversation(working_directory=str(d), allowed_tools=["-x"]), "dash"),
        (lambda d: v1.StartConversation(working_directory=str(d), provider="nobody"), "provider"),
        (lambda d: v1.StartConversation(working_directory=str(d), metadata={"k": "v" * 20_000}), "at most"),
        (lambda d: v1.StartConversation(working_directory=str(d), environment={"A=B": "c"}), "environment"),
        (lambda d: v1.StartConversation(working_directory=str(d), new_session_id="../x"), "not a session id"),
        (lambda d: v1.StartConversation(working_directory=str(d), new_session_id=new_message_id()), "version 7"),
    ],
)
async def test_a_session_that_could_not_work_is_not_made(
    agent: Agent, tmp_path: Path, start: object, says: str
) -> None:
    assert callable(start)
    before = (await listed(agent)).total
    error = await refusal(agent.Submit(v1.SubmitRequest(request=v1.AgentRequest(start=start(tmp_path)))))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert says in (error.details() or "")
    assert info_of(error).reason == "INVALID_REQUEST"
    assert (await listed(agent)).total == before


async def test_a_session_that_is_asked_for_again_under_its_own_id_is_made_once(agent: Agent, tmp_path: Path) -> None:
    own, before = new_session_id(), (await listed(agent)).total
    ids: list[str] = []

    async def ask() -> None:
        ids.append(await made(agent, tmp_path, new_session_id=own, budget=v1.Budget(max_turns=3)))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(ask)
    await agent.SetBudget(v1.SetBudgetRequest(session_id=own, budget=v1.Budget(max_turns=5)))
    await ask()
    assert ids == [own] * 9
    assert (await listed(agent)).total == before + 1
    assert len(await history(agent, own, "session_info")) == 1
    other = v1.StartConversation(working_directory=str(tmp_path), new_session_id=own, model="another")
    error = await refusal(agent.Submit(v1.SubmitRequest(request=v1.AgentRequest(start=other))))
    assert (info_of(error).reason, "Another session has this id" in (error.details() or "")) == (
        "INVALID_REQUEST",
        True,
    )


@pytest.mark.skipif(os.getuid() == 0, reason="root can read every directory")
async def test_a_directory_that_cannot_be_read_is_refused(agent: Agent, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    start = v1.StartConversation(working_directory=str(closed))
    error = await refusal(agent.Submit(v1.SubmitRequest(request=v1.AgentRequest(start=start))))
    assert "cannot be read" in (error.details() or "")


async def test_messages_and_attachments_over_the_limits_are_refused(tmp_path: Path) -> None:
    limits = {"agents": {"message_limit": "2KiB", "attachment_limit": "1KiB"}}
    async with obedient_daemon(tmp_path, settings=limits) as daemon, daemon.agent_service() as agent:
        session_id = await made(agent, daemon.work)
        big = v1.Attachment(filename="big.txt", mime_type="text/plain", data=b"x" * 1025)
        small = v1.Attachment(filename="small.txt", mime_type="text/plain", data=b"x" * 1024)
        wrong = [
            (message("x" * 2049), "2048"),
            (v1.AgentRequest(message=v1.UserMessage(content="see", attachments=[small, big])), "big.txt"),
            (v1.AgentRequest(message=v1.UserMessage(content="see", attachments=[small] * 21)), "at most 20"),
        ]
        for request, says in wrong:
            error = await refusal(agent.Submit(v1.SubmitRequest(session_id=session_id, request=request)))
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert says in (error.details() or "")
        right = v1.AgentRequest(message=v1.UserMessage(content="say seen", attachments=[small]))
        await agent.Submit(v1.SubmitRequest(session_id=session_id, request=right))
        events = await history(agent, session_id, is_idle)
        assert kinds(events).count("user_input") == 1
        assert "seen" in text_of(events)


@pytest.mark.behaviour("error.code.pool-exhausted")
async def test_without_a_free_slot_or_queue_entry_a_message_is_refused(tmp_path: Path) -> None:
    limits = {"agents": {"turn_limit": 1, "queue_limit": 1}}
    async with obedient_daemon(tmp_path, settings=limits) as daemon, daemon.agent_service() as agent:
        ids = [await made(agent, daemon.work) for _ in range(3)]
        for session_id in ids[:2]:
            await agent.Submit(v1.SubmitRequest(session_id=session_id, request=message("wait go")))
        await history(agent, ids[0], lambda event: event.text_delta.text == "waiting")
        waiting = {each.id: each.waiting_for for each in (await listed(agent)).sessions}
        assert waiting[ids[1]] == "slot"
        error = await refusal(agent.Submit(v1.SubmitRequest(session_id=ids[2], request=message("say no"))))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert error.details() == "Subprocess pool at capacity"
        assert info_of(error).reason == "POOL_EXHAUSTED"
        assert int(info_of(error).metadata["retry_after_ms"]) > 0
        (daemon.work / "go").touch()
        for session_id in ids[:2]:
            await history(agent, session_id, is_idle)
        await agent.Submit(v1.SubmitRequest(session_id=ids[2], request=message("say yes")))
        assert text_of(await history(agent, ids[2], is_idle)) == "yes"


async def test_the_environment_of_the_client_reaches_the_agent_and_no_log(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path, settings={"daemon": {"log_level": "debug"}}) as daemon:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GH_TOKEN": "very-secret-value"}
        async with daemon.agent_service() as agent:
            session_id = await made(agent, daemon.work, environment=environment)
            request = message("env GH_TOKEN")
            await agent.Submit(v1.SubmitRequest(session_id=session_id, request=request))
            assert text_of(await history(agent, session_id, is_idle)) == "very-secret-value"
        logged = [json.loads(line) for line in daemon.log.splitlines()]
        assert logged
        assert "very-secret-value" not in daemon.log + daemon.stderr


@pytest.mark.behaviour("converse.open.closed-session", "session.closed", "error.code.session-closed")
async def test_a_closed_session_takes_nothing_and_can_still_be_read(agent: Agent, daemon: Daemon) -> None:
    session_id = await made(agent, daemon.work)
    await agent.Submit(v1.SubmitRequest(session_id=session_id, request=message("say hello")))
    await history(agent, session_id, is_idle)
    await agent.CloseSession(v1.CloseSessionRequest(session_id=session_id))
    attach = v1.AgentRequest(start=v1.StartConversation(session_id=session_id))
    conversation = agent.Converse(iter([attach]))
    told = await conversation.read()
    assert isinstance(told, v1.AgentEvent)
    assert (told.error.code, told.error.is_fatal, told.sequence) == ("SESSION_CLOSED", True, 0)
    calls: list[Awaitable[object]] = [
        conversation.read(),
        agent.Submit(v1.SubmitRequest(session_id=session_id, request=message("hello"))),
        agent.Submit(v1.SubmitRequest(session_id=session_id, request=attach)),
    ]
    for call in calls:
        error = await refusal(call)
        assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert info_of(error).reason == "SESSION_CLOSED"
        assert (error.details() or "").startswith("Session has been closed")
    read = [event async for event in agent.ResumeSession(v1.ResumeSessionRequest(session_id=session_id))]
    assert text_of(read) == "hello"
    assert [event.sequence for event in read] == list(range(1, len(read) + 1))


async def test_an_empty_request_and_an_unnamed_session_are_refused(agent: Agent) -> None:
    for request in (v1.SubmitRequest(), v1.SubmitRequest(request=message("hi"))):
        error = await refusal(agent.Submit(request))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_cancel_reports_whether_there_was_a_turn(agent: Agent, tmp_path: Path) -> None:
    session_id = await made(agent, tmp_path)
    cancel = v1.CancelTurnRequest(session_id=session_id)
    assert not (await agent.CancelTurn(cancel)).was_active
    await agent.Submit(v1.SubmitRequest(session_id=session_id, request=message("wait never")))
    await history(agent, session_id, lambda event: event.text_delta.text == "waiting")
    assert (await agent.CancelTurn(cancel)).was_active
    events = await history(agent, session_id, is_idle)
    assert [event.turn_complete.stop_reason for event in events if event.turn_complete.stop_reason] == ["cancelled"]


async def test_a_blob_is_read_whole_and_in_part(agent: Agent, tmp_path: Path) -> None:
    session_id = await made(agent, tmp_path)
    text = "say " + "ä" * 400_000
    await agent.Submit(v1.SubmitRequest(session_id=session_id, request=message(text)))
    events = await history(agent, session_id, is_idle)
    cut = next(cut for event in events for cut in event.cuts if cut.field.startswith("text_delta"))
    assert cut.size_bytes == 800_000
    whole = agent.ReadBlob(v1.ReadBlobRequest(session_id=session_id, sha256=cut.sha256))
    chunks = [chunk async for chunk in whole]
    assert b"".join(chunk.data for chunk in chunks).decode() == "ä" * 400_000
    assert {chunk.total_bytes for chunk in chunks} == {800_000}
    assert max(len(chunk.data) for chunk in chunks) <= 64 * 1024
    part = agent.ReadBlob(v1.ReadBlobRequest(session_id=session_id, sha256=cut.sha256, offset=100_000, limit=70_000))
    pieces = [chunk async for chunk in part]
    assert sum(len(chunk.data) for chunk in pieces) == 70_000
    assert pieces[0].offset == 100_000
    unknown = agent.ReadBlob(v1.ReadBlobRequest(session_id=session_id, sha256="0" * 64))
    assert await unknown.code() is grpc.StatusCode.NOT_FOUND


async def test_what_an_agent_writes_has_the_modes_of_the_user_and_not_of_the_daemon(
    daemon: Daemon, agent: Agent
) -> None:
    await finished_session(agent, str(daemon.work), "spawn touch by-the-agent")
    (daemon.work / "by-us").touch()
    modes = {(daemon.work / name).stat().st_mode for name in ("by-the-agent", "by-us")}
    assert len(modes) == 1
