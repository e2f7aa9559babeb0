"""Converse, from its first message to its last."""

import json
import uuid
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Agent, Daemon, obedient_daemon
from support.daemon.stream import (
    conversation,
    finished_session,
    history,
    info_of,
    is_idle,
    kind_of,
    kinds,
    message,
    sequences,
    status_of,
    text_of,
)
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def sessions(agent: Agent) -> dict[str, v1.SessionSummary]:
    response = await agent.ListSessions(v1.ListSessionsRequest(limit=1000))
    return {each.id: each for each in response.sessions}


@pytest.mark.behaviour("converse.open.start-first", "error.status.invalid-argument", "converse.error.fatal-closes")
async def test_a_first_message_that_is_not_start_ends_the_stream_and_makes_nothing(
    agent: Agent,
) -> None:
    before = await sessions(agent)
    for first in (message("hello"), v1.AgentRequest(), v1.AgentRequest(cancel=v1.CancelRequest())):
        call = agent.Converse()
        await call.write(first)
        event = await call.read()
        assert isinstance(event, v1.AgentEvent)
        assert event.error.is_fatal
        assert event.error.code == "INVALID_REQUEST"
        assert await status_of(call) is grpc.StatusCode.INVALID_ARGUMENT
    assert await sessions(agent) == before


async def test_a_stream_closed_before_its_first_message_makes_nothing(agent: Agent) -> None:
    before = await sessions(agent)
    call = agent.Converse()
    await call.done_writing()
    with anyio.fail_after(PATIENCE_S):
        event = await call.read()
    assert isinstance(event, v1.AgentEvent)
    assert event.error.code == "INVALID_REQUEST"
    assert await status_of(call) is grpc.StatusCode.INVALID_ARGUMENT
    assert await sessions(agent) == before


@pytest.mark.behaviour("converse.open.empty-id-creates", "converse.open.session-info", "converse.open.is-resumed")
async def test_an_empty_id_creates_a_session_and_returns_its_id(agent: Agent, daemon: Daemon) -> None:
    async with conversation(agent, working_directory=str(daemon.work)) as stream:
        first = await stream.next()
        assert first is not None
        assert kind_of(first) == "session_info"
        assert first.sequence == 1
        assert not first.session_info.is_resumed
        assert first.session_info.session_id in await sessions(agent)
        events = await stream.turn("say hello")
        with_model = [event.session_info for event in events if event.session_info.model]
        assert with_model[0].model == "obedient-1"
        assert with_model[0].session_id == stream.session_id


@pytest.mark.behaviour(
    "converse.open.known-id-attaches",
    "converse.open.attach-spawns-nothing",
    "converse.open.is-resumed",
    "followers.attach.full-history",
)
async def test_a_known_id_attaches_and_starts_no_agent(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    pids = (tmp_path / "agent.pids").read_text()
    count = len(await sessions(agent))
    async with conversation(agent, session_id=session_id) as stream:
        events = await stream.until(is_idle)
        assert kind_of(events[0]) == "session_info"
        assert events[0].sequence == 0
        assert events[0].session_info.is_resumed
        assert events[0].session_info.session_id == session_id
        last = events[-1].sequence
        assert sequences(events) == list(range(1, last + 1))
        assert text_of(events) == "one two three"
    assert (tmp_path / "agent.pids").read_text() == pids
    assert len(await sessions(agent)) == count


@pytest.mark.behaviour("converse.open.unknown-id", "error.code.session-not-found", "error.status.not-found")
@pytest.mark.parametrize(
    "session_id", [str(uuid.UUID(int=7)), "nonsense", "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV", "x" * 100_000]
)
async def test_an_unknown_id_is_not_found(agent: Agent, session_id: str) -> None:
    async with conversation(agent, session_id=session_id) as stream:
        event = await stream.next()
        assert event is not None
        assert event.error.code == "SESSION_NOT_FOUND"
        assert event.error.message == "Session does not exist"
        assert event.error.is_fatal
        assert event.sequence == 0
        assert event.error.details["session_id"]
        with pytest.raises(aio.AioRpcError) as error:
            await stream.next()
    assert error.value.code() is grpc.StatusCode.NOT_FOUND
    assert error.value.details() == "Session does not exist"
    assert info_of(error.value).reason == "SESSION_NOT_FOUND"
    assert info_of(error.value).domain == "betcode"


@pytest.mark.behaviour("converse.open.idle-message-spawns", "session.idle", "lifecycle.run.states")
async def test_a_message_to_an_idle_session_without_a_process_starts_exactly_one(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path, settings={"agents": {"idle_retire": "50ms"}}) as daemon,
        daemon.agent_service() as agent,
        conversation(agent, working_directory=str(daemon.work)) as stream,
    ):
        await stream.turn("say one")
        with anyio.fail_after(PATIENCE_S):
            while (summary := (await sessions(agent))[stream.session_id]).run_state != "exited":
                assert summary.status == "idle"
                await anyio.sleep(0.02)
        assert len(daemon.agent_pids) == 1
        async with conversation(agent, session_id=stream.session_id) as second:
            await second.until(is_idle)
            assert len(daemon.agent_pids) == 1
            events = await second.turn("say two")
        assert text_of(events) == "two"
        assert len(daemon.agent_pids) == 2


@pytest.mark.behaviour("converse.start.working-directory")
async def test_the_agent_runs_in_the_working_directory(agent: Agent, tmp_path: Path) -> None:
    await finished_session(agent, str(tmp_path))
    assert (tmp_path / "agent.pids").exists()


@pytest.mark.behaviour("converse.start.model", "converse.start.plan-mode", "converse.start.allowed-tools")
async def test_model_plan_mode_and_tools_reach_the_agent(agent: Agent, daemon: Daemon) -> None:
    start = v1.StartConversation(
        working_directory=str(daemon.work), model="large-1", plan_mode=True, allowed_tools=["Bash", "Read"]
    )
    async with conversation(agent, start) as stream:
        events = await stream.turn("argv")
        arguments = json.loads(text_of(events))
        assert "--model=large-1" in arguments
        assert "--permission-mode=plan" in arguments
        assert "--allowedTools=Bash,Read" in arguments
        assert [event.plan_mode.active for event in events if kind_of(event) == "plan_mode"] == [True]
        assert "permission_request" not in kinds(await stream.turn("tool"))


@pytest.mark.behaviour("converse.start.model", "converse.start.allowed-tools")
async def test_without_model_and_tools_the_agent_has_its_own(agent: Agent, daemon: Daemon) -> None:
    async with conversation(agent, working_directory=str(daemon.work)) as stream:
        arguments = json.loads(text_of(await stream.turn("argv")))
        assert not [each for each in arguments if each.startswith(("--model", "--allowedTools"))]
        await stream.say("tool")
        await stream.until("permission_request")


@pytest.mark.behaviour("converse.start.metadata")
async def test_metadata_survives_a_restart(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with daemon.agent_service() as agent:
            start = v1.StartConversation(working_directory=str(daemon.work), metadata={"ticket": "X-1", "ä": "ö"})
            async with conversation(agent, start) as stream:
                await stream.next()
                session_id = stream.session_id
        await daemon.restart()
        async with daemon.agent_service() as agent:
            assert dict((await sessions(agent))[session_id].metadata) == {"ticket": "X-1", "ä": "ö"}


@pytest.mark.behaviour(
    "converse.turn.until-complete", "converse.turn.many-per-stream", "lifecycle.run.stays-after-turn"
)
async def test_turns_follow_one_another_on_one_stream_and_in_one_process(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        for number in range(3):
            events = await stream.turn(f"say number {number}")
            assert kinds(events).count("turn_complete") == 1
            assert kinds(events)[-2:] == ["turn_complete", "status_change"]
            assert text_of(events) == f"number {number}"
        assert sequences(stream.events) == list(range(1, len(stream.events) + 1))
    assert len((tmp_path / "agent.pids").read_text().split()) == 1


@pytest.mark.behaviour("converse.turn.messages-merge")
async def test_each_message_sent_during_a_turn_can_be_followed_by_its_id(agent: Agent, tmp_path: Path) -> None:
    ids = [str(uuid.uuid4()) for _ in range(3)]
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.say("wait go", ids[0])
        await stream.until("text_delta")
        await stream.say("say second", ids[1])
        await stream.say("say third", ids[2])
        shown = await stream.until(lambda event: event.user_input.message_id == ids[2])
        assert [event.user_input.message_id for event in shown if kind_of(event) == "user_input"] == ids[1:]
        (tmp_path / "go").touch()
        left = set(ids)
        while left:
            (event,) = (await stream.until("message_state"))[-1:]
            if event.message_state.state == v1.MESSAGE_STATE_CONSUMED:
                left.remove(event.message_state.message_id)


@pytest.mark.behaviour("converse.close.client-half")
async def test_after_the_clients_half_is_closed_the_turn_is_given_to_its_end(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.say("wait go\nsay the end")
        await stream.until("text_delta")
        await stream.call.done_writing()
        (tmp_path / "go").touch()
        events = await stream.rest()
        assert kinds(events)[-2:] == ["turn_complete", "status_change"]
        assert text_of(events).endswith("the end")
        assert await status_of(stream.call) is grpc.StatusCode.OK


async def test_a_half_closed_stream_of_an_idle_session_ends_at_once(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    async with conversation(agent, session_id=session_id) as stream:
        await stream.call.done_writing()
        events = await stream.rest()
        assert is_idle(events[-1])
        assert await status_of(stream.call) is grpc.StatusCode.OK


@pytest.mark.behaviour("converse.close.turn-continues", "converse.reopen.replays-missed", "session.active")
async def test_a_turn_continues_when_its_only_client_disconnects(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.say("wait go\nsay alone")
        await stream.until("text_delta")
        session_id, position = stream.session_id, stream.events[-1].sequence
        assert (await sessions(agent))[session_id].status == "active"
    (tmp_path / "go").touch()
    await history(agent, session_id, is_idle)
    start = v1.StartConversation(session_id=session_id, from_sequence=position)
    async with conversation(agent, start) as stream:
        missed = await stream.until(is_idle)
        assert sequences(missed) == list(range(position + 1, missed[-1].sequence + 1))
        assert text_of(missed).endswith("alone")
        assert text_of(await stream.turn("say live")) == "live"
    assert len((tmp_path / "agent.pids").read_text().split()) == 1


@pytest.mark.behaviour("converse.error.nonfatal-inline", "error.event.shape", "error.details.session-id")
async def test_an_invalid_request_is_reported_and_the_stream_continues(agent: Agent, daemon: Daemon) -> None:
    unknown = str(uuid.uuid4())
    wrong = {
        "INVALID_REQUEST": [
            message(""),
            message("  \n"),
            message("hi", "not-a-uuid"),
            v1.AgentRequest(),
            v1.AgentRequest(start=v1.StartConversation(working_directory=str(daemon.work))),
            v1.AgentRequest(permission=v1.PermissionResponse(request_id=unknown, decision=77)),  # type: ignore[arg-type]
            v1.AgentRequest(permission=v1.PermissionResponse(request_id=unknown)),
            v1.AgentRequest(question_response=v1.UserQuestionResponse(question_id=unknown)),
        ],
        "PERMISSION_NOT_FOUND": [
            v1.AgentRequest(permission=v1.PermissionResponse(request_id=unknown, decision=v1.DENY)),
            v1.AgentRequest(question_response=v1.UserQuestionResponse(question_id=unknown, answers={"a": "b"})),
        ],
    }
    async with conversation(agent, working_directory=str(daemon.work)) as stream:
        await stream.next()
        for code, requests in wrong.items():
            for request in requests:
                await stream.send(request)
                event = await stream.next()
                assert event is not None
                assert event.error.code == code, event
                assert event.error.message
                assert not event.error.is_fatal
                assert event.sequence == 0
                assert event.error.details["session_id"] == stream.session_id
        assert text_of(await stream.turn("say still here")) == "still here"


async def test_a_cancel_ends_the_turn_as_cancelled(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.say("wait never")
        await stream.until("text_delta")
        await stream.send(v1.AgentRequest(cancel=v1.CancelRequest(reason="enough")))
        events = await stream.until(is_idle)
        assert [event.turn_complete.stop_reason for event in events if kind_of(event) == "turn_complete"] == [
            "cancelled"
        ]


async def test_from_sequence_gives_only_what_comes_after(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    async with conversation(agent, v1.StartConversation(session_id=session_id, from_sequence=4)) as stream:
        events = await stream.until(is_idle)
        assert sequences(events)[0] == 5
    async with conversation(agent, v1.StartConversation(session_id=session_id, from_sequence=10_000)) as stream:
        event = await stream.next()
        assert event is not None
        assert event.error.code == "SEQUENCE_OUT_OF_RANGE"
        assert await status_of(stream.call) is grpc.StatusCode.OUT_OF_RANGE


async def test_an_open_prompt_is_shown_again_to_whoever_attaches(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.say("tool")
        asked = (await stream.until("permission_request"))[-1]
        await stream.until(lambda event: event.status_change.status == v1.WAITING_FOR_USER)
        position = stream.events[-1].sequence
        start = v1.StartConversation(session_id=stream.session_id, from_sequence=position)
        async with conversation(agent, start) as second:
            again = (await second.until("permission_request"))[-1]
            assert again.sequence == 0
            assert again.permission_request.is_replay
            assert again.permission_request.request_id == asked.permission_request.request_id
            assert again.permission_request.input_json == asked.permission_request.input_json
            await second.answer(again.permission_request.request_id)
            events = await second.until(is_idle)
            assert text_of(events) == "ran"
        resolved = (await stream.until("permission_resolved"))[-1].permission_resolved
        assert resolved.decision == v1.ALLOW_ONCE
        assert resolved.client_id.startswith("tester")
    # The agent's own JSON went back to it: ten is ten, not 10.0.
    assert json.loads((tmp_path / "ran.txt").read_text())["times"] == 10
    assert '"times": 10}' in (tmp_path / "ran.txt").read_text()
