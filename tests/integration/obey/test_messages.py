"""Messages and what comes of them: activities as they arrive, the last of them the answer, and each way to fail."""

import os
import signal
import sys

import anyio
import pytest
from google.protobuf.duration_pb2 import Duration

from betcode.client import open_client
from obey.local.v1 import local_pb2 as pb
from support.daemon.process import becomes_true
from support.obey.daemon import Obeyed, only, refused
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

CLAUDE = pb.SESSION_PROVIDER_CLAUDE_CODE
STATUS, COMPLETION, ERROR = pb.ACTIVITY_TYPE_STATUS, pb.ACTIVITY_TYPE_COMPLETION, pb.ACTIVITY_TYPE_ERROR


def sending(it: Obeyed, session_id: str, message: str) -> "object":
    return it.stub.SendMessage(pb.SendMessageRequest(session_id=session_id, message=message), timeout=PATIENCE_S)


@pytest.mark.behaviour("obey.send.final-completion", "obey.activity.completion", "obey.activity.session-and-time")
@pytest.mark.behaviour("obey.info.tokens", "obey.activity.tokens", "obey.info.times")
async def test_the_answer_comes_last_and_tokens_add_up(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    first = await it.send(info.id, "say Hello there")
    between = await it.get(info.id)
    second = await it.send(info.id, "say and again")
    after = await it.get(info.id)
    assert [(events[-1].type, events[-1].content) for events in (first, second)] == [
        (COMPLETION, "Hello there"),
        (COMPLETION, "and again"),
    ]
    assert all(event.session_id == info.id and event.timestamp.seconds for event in [*first, *second])
    assert sum(event.tokens_input for event in [*first, *second]) == after.tokens_input > 0
    assert sum(event.tokens_output for event in [*first, *second]) == after.tokens_output > 0
    assert first[-1].tokens_output == between.tokens_output
    assert info.created_at.ToNanoseconds() <= info.started_at.ToNanoseconds() <= info.last_activity_at.ToNanoseconds()
    moved = [each.last_activity_at.ToNanoseconds() for each in (info, between, after)]
    assert moved == sorted(set(moved))
    assert not after.HasField("ended_at")
    await it.stop(info.id)
    stopped = await it.get(info.id)
    assert (stopped.created_at, stopped.started_at) == (info.created_at, info.started_at)
    assert stopped.ended_at.ToNanoseconds() >= after.last_activity_at.ToNanoseconds()


@pytest.mark.behaviour("obey.send.streams", "obey.send.working", "obey.status.running")
async def test_activities_come_while_the_agent_works(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    call = it.stub.SendMessage(pb.SendMessageRequest(session_id=info.id, message="peek\nwait stream\nsay over"))
    with anyio.fail_after(PATIENCE_S):
        seen = []
        async for event in call:
            seen.append(event)
            if event.type == pb.ACTIVITY_TYPE_TOOL_RESULT:
                assert (await it.get(info.id)).status == pb.SESSION_STATUS_WORKING
                (it.root / "stream").touch()
    assert [event.type for event in seen] == [
        STATUS,
        pb.ACTIVITY_TYPE_TOOL_CALL,
        pb.ACTIVITY_TYPE_TOOL_RESULT,
        COMPLETION,
    ]
    assert (await it.get(info.id)).status == pb.SESSION_STATUS_RUNNING
    await it.stop(info.id)


@pytest.mark.behaviour("obey.send.unknown", "obey.send.not-running")
async def test_a_session_at_work_takes_no_message(it: Obeyed) -> None:
    nobody = await refused(sending(it, "sess_01JMXYZ0000000000000000000", "say hello"))
    assert (nobody.reason, nobody.status) == ("OBEY-2010", "NOT_FOUND")
    info = await it.create(CLAUDE, initial_message="wait free\nsay first")
    busy = await refused(sending(it, info.id, "say second"))
    assert (busy.reason, busy.status) == ("OBEY-2011", "FAILED_PRECONDITION")
    (it.root / "free").touch()
    await it.until(info.id, pb.SESSION_STATUS_RUNNING)
    async with open_client(it.daemon.paths) as client:
        summary = next(each for each in (await client.list_sessions()).sessions if each.name == info.agent_name)
        assert summary.message_count == 2, "one message and its answer"
    await it.stop(info.id)
    ended = await refused(sending(it, info.id, "say third"))
    assert ended.reason == "OBEY-2011"


async def test_of_two_messages_at_once_one_is_taken(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    answers: list[str] = []

    async def send(message: str) -> None:
        try:
            answers.append((await it.send(info.id, message))[-1].content.removesuffix("waiting"))
        except Exception as error:  # noqa: BLE001 whichever of them fails
            answers.append(str(error)[:200])

    async with anyio.create_task_group() as tasks:
        for word in ("one", "two", "three"):
            tasks.start_soon(send, f"say {word}\nwait both")
        with anyio.fail_after(PATIENCE_S):
            while len(answers) < 2:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        (it.root / "both").touch()
    assert sum("OBEY-2011" in answer for answer in answers) == 2
    assert sum(answer in ("one", "two", "three") for answer in answers) == 1
    await it.stop(info.id)


@pytest.mark.behaviour("obey.send.client-gone")
async def test_a_caller_who_leaves_changes_nothing(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    async with it.other_client() as stub:
        call = stub.SendMessage(pb.SendMessageRequest(session_id=info.id, message="wait alone\nsay for nobody"))
        await call.read()
        call.cancel()
    (it.root / "alone").touch()
    done = await it.until(info.id, pb.SESSION_STATUS_RUNNING)
    assert done.tokens_output > 0
    async with open_client(it.daemon.paths) as client:
        summary = next(each for each in (await client.list_sessions()).sessions if each.name == info.agent_name)
    assert summary.last_message_preview == "waitingfor nobody"
    await it.stop(info.id)


@pytest.mark.behaviour("obey.send.budget")
async def test_a_budget_lets_the_turn_finish_and_refuses_the_next(it: Obeyed) -> None:
    info = await it.create(CLAUDE, max_tokens=50)
    assert info.max_tokens == 50
    assert (await it.send(info.id, "say more than that"))[-1].type == COMPLETION
    error = await refused(sending(it, info.id, "say more"))
    assert (error.reason, error.status) == ("OBEY-2013", "RESOURCE_EXHAUSTED")
    assert (await it.get(info.id)).status == pb.SESSION_STATUS_RUNNING
    await it.stop(info.id)


@pytest.mark.behaviour("obey.send.budget", "obey.send.timeout")
async def test_a_budget_and_a_timeout_of_0_are_none(it: Obeyed) -> None:
    info = await it.create(CLAUDE, max_tokens=0, timeout=Duration())
    for text in ("say one", "say two", "say three"):
        assert (await it.send(info.id, text))[-1].type == COMPLETION
    assert (await it.get(info.id)).tokens_output > 50
    await it.stop(info.id)


@pytest.mark.behaviour("obey.send.timeout")
async def test_a_timeout_cancels_the_turn_and_takes_no_message_after_it(it: Obeyed) -> None:
    request = pb.CreateSessionRequest(campaign_id=it.campaign_id, provider=CLAUDE)
    request.timeout.FromMilliseconds(700)
    info = (await it.stub.CreateSession(request)).session
    cut = await refused(sending(it, info.id, "wait for-ever"))
    assert (cut.reason, cut.status) == ("OBEY-2014", "DEADLINE_EXCEEDED")
    late = await refused(sending(it, info.id, "say hello"))
    assert late.reason == "OBEY-2014"
    assert (await it.get(info.id)).status == pb.SESSION_STATUS_RUNNING
    again = await it.restart(info.id)
    assert (await it.send(again.id, "say hello"))[-1].content == "hello"
    await it.stop(info.id)


@pytest.mark.behaviour("obey.error.2031", "obey.activity.error")
async def test_a_crash_is_reported_and_the_session_can_continue(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    program = it.daemon.root / "agent-obedient"
    call = await it.at_work(info.id, "wait crash\nsay never")
    # The next agent would go on with the turn: let there be none that starts.
    script = program.read_text()
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no second one')\n")
    os.kill(info.pid, signal.SIGKILL)
    crash = await call.read()
    assert isinstance(crash, pb.SessionActivityEvent)
    error = await refused(call)
    program.write_text(script)
    assert crash.type == ERROR
    assert "crashed" in crash.content
    assert (error.reason, error.status) == ("OBEY-2031", "UNAVAILABLE")
    after = await it.get(info.id)
    assert after.status == pb.SESSION_STATUS_RUNNING
    assert after.error_message
    await it.stop(info.id)


@pytest.mark.behaviour("obey.error.2032", "obey.error.2000", "obey.activity.error")
@pytest.mark.parametrize(
    ("words", "reason", "status"),
    [
        ("API Error: Connection error.", "OBEY-2032", "UNAVAILABLE"),
        ("the model went for a walk", "OBEY-2000", "INTERNAL"),
    ],
)
async def test_a_failed_turn_is_reported_with_the_provider_s_message(
    it: Obeyed, words: str, reason: str, status: str
) -> None:
    info = await it.create(CLAUDE)
    call = await it.at_work(info.id, f"fail {words}")
    error = await refused(call)
    assert (error.reason, error.status) == (reason, status)
    assert words in error.message
    after = await it.get(info.id)
    assert (after.status, words in after.error_message) == (pb.SESSION_STATUS_RUNNING, True)
    assert (await it.send(info.id, "say better"))[-1].content == "better"
    assert (await it.get(info.id)).error_message == ""
    await it.stop(info.id)


@pytest.mark.behaviour("obey.send.delivery-failed")
async def test_a_message_without_an_agent_to_give_it_to_is_not_taken(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    os.kill(info.pid, signal.SIGKILL)
    program = it.daemon.root / "agent-obedient"
    aside = program.rename(program.with_name("aside"))
    try:
        with anyio.fail_after(PATIENCE_S):
            while (await it.get(info.id)).pid:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        error = await refused(sending(it, info.id, "say hello"))
    finally:
        aside.rename(program)
    assert (error.reason, error.status) == ("OBEY-2012", "UNAVAILABLE")
    assert (await it.get(info.id)).status == pb.SESSION_STATUS_RUNNING
    assert (await it.send(info.id, "say hello"))[-1].content == "hello"
    await it.stop(info.id)


@pytest.mark.behaviour("obey.activity.status", "obey.activity.tool-call", "obey.activity.tool-result")
async def test_a_prompt_is_shown_with_its_id_and_answered(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    call = it.stub.SendMessage(pb.SendMessageRequest(session_id=info.id, message="tool\nsay done"), timeout=PATIENCE_S)
    seen = []
    answers = []
    async for event in call:
        seen.append(event)
        if event.content.startswith("permission_requested"):
            short = pb.AnswerPermissionRequest(request_id=event.tool_call_id[:8], allow=True)
            assert (await refused(it.stub.AnswerPermission(short))).status == "NOT_FOUND"  # of whichever session
            request = pb.AnswerPermissionRequest(session_id=info.id, request_id=event.tool_call_id[:8], allow=True)
            answers += [(await it.stub.AnswerPermission(request)).already_answered for _ in range(2)]
    assert answers == [False, True]
    call_, result = only(seen, pb.ACTIVITY_TYPE_TOOL_CALL)[0], only(seen, pb.ACTIVITY_TYPE_TOOL_RESULT)[0]
    assert (
        (result.tool_name, result.tool_call_id) == (call_.tool_name, call_.tool_call_id) == ("Bash", call_.tool_call_id)
    )
    assert result.tool_success
    assert [event.content.split()[0] for event in only(seen, STATUS)] == [
        "WORKING",
        "permission_requested",
        "prompt_resolved",
    ]
    await becomes_true((it.root / "ran.txt").exists)
    unknown = await refused(it.stub.AnswerPermission(pb.AnswerPermissionRequest(request_id="nobody", allow=True)))
    assert (unknown.reason, unknown.status) == ("OBEY-2000", "NOT_FOUND")
    await it.stop(info.id)
