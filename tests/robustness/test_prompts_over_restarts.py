"""Prompts that are open when the daemon is killed or stopped."""

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from betcode.client import Client, open_client
from betcode.client.errors import ClientError
from betcode.domain.runs.journal_record import RecordKind
from betcode.v1 import agent_pb2 as v1
from betcode.v1.admin_pb2 import AGENTS_AT_STOP_ALL_END
from support.daemon.clock import DAY_S, Timed, timed_daemon
from support.daemon.process import Daemon, running_daemon
from support.daemon.runs import runs_in
from support.daemon.session import Talk, assert_whole, is_idle, kind_of, settled_text
from support.daemon.stream import conversation
from support.providers.claude_world import demo_sessions, demo_talk, obedient_talk
from support.rounds.facts import ledger
from support.rounds.rounds import mindful_program

pytestmark = pytest.mark.anyio


@pytest.fixture
async def mindful(tmp_path: Path) -> AsyncIterator[tuple[Daemon, Client]]:
    """A daemon whose agent knows what it was told before it was killed."""
    async with (
        running_daemon(tmp_path / "home", claude_bin=mindful_program(tmp_path)) as daemon,
        open_client(daemon.paths) as client,
    ):
        yield daemon, client


async def attached(daemon: Daemon, session_id: str, position: int) -> list[v1.AgentEvent]:
    """What a stream that attaches there is shown first: all that has no number."""
    async with daemon.agent_service() as service:
        start = v1.StartConversation(session_id=session_id, from_sequence=position - 1)
        async with conversation(service, start) as stream:
            return (await stream.until(lambda event: bool(event.sequence)))[:-1]


def answers_written(daemon: Daemon) -> int:
    """How many answers the journals of all agents hold."""
    lines = [line for run in runs_in(daemon.paths.runs) for line in run.lines(RecordKind.IN)]
    return sum(b"control_response" in line for line in lines)


@pytest.mark.behaviour(
    "permission.restart.still-open",
    "permission.replay.on-reattach",
    "permission.replay.flag",
    "permission.replay.answered-not-shown",
)
@pytest.mark.parametrize("kind", ["tool", "ask"])
async def test_a_prompt_is_open_after_a_restart_and_its_answer_reaches_the_agent_once(
    mindful: tuple[Daemon, Client], kind: str
) -> None:
    daemon, client = mindful
    talk = await obedient_talk(daemon, client)
    await talk.say(f"{kind}\nsay over")
    name = "permission_request" if kind == "tool" else "user_question"
    first = (await talk.until(name))[-1]
    assert not getattr(first, name).is_replay
    await talk.until(lambda event: event.status_change.status == v1.WAITING_FOR_USER)
    await daemon.restart()
    again = [event for event in await attached(daemon, talk.session_id, talk.position) if kind_of(event) == name]
    assert [getattr(event, name).is_replay for event in again] == [True]
    (pending,) = await client.pending(talk.session_id)
    assert not pending.agent_is_gone
    give: Callable[[], Awaitable[object]]
    if kind == "tool":
        assert again[0].permission_request.request_id == first.permission_request.request_id == pending.request_id
        give = lambda: client.answer_permission(pending.request_id, v1.ALLOW_ONCE)  # noqa: E731
    else:
        assert again[0].user_question.question_id == first.user_question.question_id
        give = lambda: client.answer_question(pending.request_id, {"Which colour?": "red"})  # noqa: E731
    await give()
    await give()
    events = await talk.until(is_idle)
    assert settled_text(events).endswith("over")
    assert answers_written(daemon) == 1
    await daemon.restart()
    assert not [event for event in await attached(daemon, talk.session_id, talk.position) if kind_of(event) == name]
    assert [noted.what for noted in ledger(daemon.work)].count("heard") == 1
    assert_whole(talk.events)


@pytest.mark.behaviour("permission.restart.agent-gone")
async def test_a_prompt_of_an_agent_that_was_stopped_with_its_daemon_waits_for_the_next_message(
    mindful: tuple[Daemon, Client],
) -> None:
    daemon, client = mindful
    talk = await obedient_talk(daemon, client)
    await talk.say("tool")
    request = await talk.asked()
    await client.stop_daemon(daemon.pid, AGENTS_AT_STOP_ALL_END)
    await daemon.ended()
    await daemon.start()
    await talk.until(is_idle)
    (pending,) = await client.pending(talk.session_id)
    assert (pending.request_id, pending.agent_is_gone) == (request.request_id, True)
    (shown,) = [
        event for event in await attached(daemon, talk.session_id, talk.position) if event.permission_request.tool_name
    ]
    assert "gets your answer when it restarts" in shown.permission_request.note
    assert shown.permission_request.is_replay
    await talk.answer(request, allow=False)
    assert (await talk.summary()).pending_prompts == 0
    await talk.say("say hurry")
    events = await talk.until(lambda event: "hurry" in event.text_delta.text)
    assert not any(event.HasField("permission_request") for event in events)
    assert not (daemon.work / "ran.txt").exists()
    assert answers_written(daemon) == 1


async def test_a_message_that_is_begun_anew_after_a_crash_supersedes_what_was_asked(tmp_path: Path) -> None:
    """An agent that cannot continue a broken turn is given the message again."""
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=0)
        await talk.say("show me a tool")
        old = await talk.asked()
        os.kill(runs_in(daemon.paths.runs)[-1].agent_pid, signal.SIGKILL)
        again = await talk.asked()
        assert again.supersedes == old.request_id
        await talk.answer(again, allow=True)
        await talk.until(is_idle)
        assert_whole(talk.events)


async def asked_and_stopped(timed: Timed, talk: Talk, text: str) -> str:
    """The id of a prompt whose agent was stopped together with its daemon; another daemon is there."""
    asked = await timed.asked(talk, text)
    await timed.client.stop_daemon(timed.daemon.pid, AGENTS_AT_STOP_ALL_END)
    await timed.daemon.ended()
    await timed.daemon.start()
    (pending,) = await timed.client.pending()
    assert (pending.request_id, pending.agent_is_gone) == (asked.request_id, True)
    assert pending.expires_at == asked.expires_at
    return asked.request_id


@pytest.mark.behaviour("permission.restart.clock-goes-on")
async def test_the_time_of_a_prompt_goes_on_though_its_agent_is_gone(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path) as timed:
        talk = await timed.talk()
        old = await asked_and_stopped(timed, talk, "tool")
        timed.later(7 * DAY_S + 1)
        events = await talk.until(lambda event: event.permission_resolved.resolution == "expired")
        assert events[-1].permission_resolved.request_id == old
        with pytest.raises(ClientError) as late:
            await timed.client.answer_permission(old, v1.ALLOW_ONCE)
        assert late.value.code == "PERMISSION_STALE"
        again = await timed.asked(talk, "say hurry")
        assert (again.permission.supersedes, again.agent_is_gone) == ("", False)


@pytest.mark.parametrize("minutes", [10, 16])
async def test_an_allowance_that_was_kept_for_long_is_only_told(tmp_path: Path, minutes: int) -> None:
    async with timed_daemon(tmp_path) as timed:
        talk = await timed.talk()
        old = await asked_and_stopped(timed, talk, "tool Write\nsay done")
        await timed.client.answer_permission(old, v1.ALLOW_ONCE)
        timed.later(60 * minutes)
        await talk.say("say hurry")
        events = await talk.until(lambda event: event.HasField("tool_call_result") or asks_anew(event, old))
        if minutes == 10:
            assert events[-1].tool_call_result.output == "it ran"
        else:
            assert events[-1].permission_request.note == "You allowed this before the agent crashed"
            assert not (timed.daemon.work / "ran.txt").exists()


def asks_anew(event: v1.AgentEvent, old: str) -> bool:
    return event.permission_request.request_id not in ("", old)
