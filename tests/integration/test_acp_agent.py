"""An agent that speaks ACP, in a real daemon: greeted, asked, allowed, cancelled, lost and taken up again."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from betcode.client import Client, open_client
from betcode.client.errors import Refused
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, becomes_true, running_daemon
from support.daemon.session import Talk, is_idle, kinds, settled_text, states_of
from support.providers.acp_session import acp_talk

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def room(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Daemon, Client]]:
    root = tmp_path_factory.mktemp("acp")
    async with running_daemon(root) as daemon, open_client(daemon.paths) as client:
        yield daemon, client


@pytest.fixture(scope="module")
async def talk(room: tuple[Daemon, Client]) -> Talk:
    """One session, and one agent, for all that leaves both as they were."""
    return await acp_talk(*room)


async def test_text_and_thoughts_stream_and_settle(talk: Talk) -> None:
    events = await talk.turn("think about it\nsay one two three")
    assert settled_text(events) == "one two three"
    thoughts = [event.thinking_delta.text for event in events if event.thinking_delta.is_complete]
    assert thoughts == ["about it"]
    [usage] = [event.usage for event in events if event.HasField("usage")]
    assert (usage.input_tokens, usage.output_tokens) == (100, 20)
    assert kinds(events)[-3:] == ["usage", "turn_complete", "status_change"]


async def test_a_command_is_asked_for_and_runs_when_it_is_allowed(room: tuple[Daemon, Client], talk: Talk) -> None:
    daemon, _ = room
    await talk.say("tool touch allowed.txt\ntool touch denied.txt\nsay done")
    request = await talk.asked()
    assert (request.tool_name, request.input_json) == ("Bash", '{"command":"touch allowed.txt"}')
    await talk.answer(request, allow=True)
    await talk.answer(await talk.asked(), allow=False)
    events = await talk.until(is_idle)
    assert settled_text(events) == "done"
    assert "touch allowed.txt" in (daemon.work / "ran.txt").read_text()
    assert "touch denied.txt" not in (daemon.work / "ran.txt").read_text()
    denied = [event.tool_call_result for event in talk.events if event.HasField("tool_call_result")][-1]
    assert (denied.is_error, denied.denied_by) == (True, "answer")


async def test_what_is_allowed_for_the_session_is_kept_by_betcode(talk: Talk) -> None:
    await talk.say("tool git status\ntool git status\nsay done")
    request = await talk.asked()
    await talk.client.answer_permission(request.request_id, v1.ALLOW_SESSION)
    events = await talk.until(is_idle)
    assert "permission_request" not in kinds(events)
    assert settled_text(events) == "done"


async def test_an_edit_is_asked_for_with_its_file(room: tuple[Daemon, Client], talk: Talk) -> None:
    daemon, _ = room
    await talk.say("edit notes.txt")
    request = await talk.asked()
    assert (request.tool_name, request.input.fields["file_path"].string_value) == (
        "Edit",
        str(daemon.work / "notes.txt"),
    )
    await talk.answer(request, allow=True)
    await talk.until(is_idle)
    assert (daemon.work / "notes.txt").read_text() == "new\n"


async def test_plans_commands_and_usage_are_told(talk: Talk) -> None:
    events = await talk.turn("plan look, act\ncommands review, init\nusage 7 3\nusage 2 1\nsay done")
    [todos] = [event.todo_update for event in events if event.HasField("todo_update")]
    assert [(item.subject, item.status) for item in todos.items] == [("look", v1.IN_PROGRESS), ("act", v1.PENDING)]
    [info] = [event.session_info for event in events if event.session_info.commands]
    assert [command.name for command in info.commands] == ["review", "init"]
    [usage] = [event.usage for event in events if event.HasField("usage")]
    assert (usage.input_tokens, usage.output_tokens, usage.cost_usd, usage.model) == (9, 4, 0.5, "scripted-1")


async def test_messages_wait_for_the_end_of_the_turn(room: tuple[Daemon, Client], talk: Talk) -> None:
    await talk.say("wait go\nsay first")
    await talk.until("text_delta")
    await talk.say("say second")
    (room[0].work / "go").touch()
    events = [*await talk.until(is_idle), *await talk.until(is_idle)]
    assert [event.text_delta.text for event in events if event.text_delta.is_complete][-1] == "second"
    assert not [event for event in events if event.HasField("error")]  # the agent refuses a prompt during a turn


async def test_a_turn_is_cancelled_at_an_open_request(talk: Talk) -> None:
    await talk.say("tool touch never.txt")
    request = await talk.asked()
    await talk.client.cancel(talk.session_id)
    events = await talk.until(is_idle)
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["cancelled"]
    [resolved] = [event.permission_resolved for event in events if event.HasField("permission_resolved")]
    assert (resolved.request_id, resolved.resolution) == (request.request_id, "withdrawn")
    assert settled_text(await talk.turn("say on")) == "on"


async def test_a_turn_is_cancelled_while_it_waits(talk: Talk) -> None:
    await talk.say("wait nothing")
    await talk.until("text_delta")
    await talk.client.cancel(talk.session_id)
    events = await talk.until(is_idle)
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["cancelled"]
    [settled] = [event.text_delta for event in events if event.text_delta.is_complete]
    assert (settled.text, settled.is_partial) == ("waiting", True)


async def test_what_the_agent_asks_of_its_client_is_refused(talk: Talk) -> None:
    assert "refused" in settled_text(await talk.turn("fs /etc/hostname"))


@pytest.mark.parametrize("flags", [(), ("--no-resume",)], ids=["resumed", "loaded"])
async def test_a_killed_agent_is_taken_up_again(room: tuple[Daemon, Client], flags: tuple[str, ...]) -> None:
    talk = await acp_talk(*room, *flags)
    await talk.turn("say remember 42")
    lost = await talk.say("wait nothing")
    await talk.until(lambda event: "waiting" in event.text_delta.text)
    os.kill(room[0].agent_pids[-1], signal.SIGKILL)
    assert states_of(await talk.until(is_idle), lost.message_id) == ["UNKNOWN"]
    events = await talk.turn("remember")
    assert settled_text(events) == "say remember 42; wait nothing"


async def test_a_turn_that_a_crash_broke_off_ends_before_the_message_behind_it_begins(
    room: tuple[Daemon, Client],
) -> None:
    talk = await acp_talk(*room)
    broken = await talk.say("say half\nwait never")
    await talk.until(lambda event: "half" in event.text_delta.text)
    waiting = await talk.say("say whole")
    os.kill(room[0].agent_pids[-1], signal.SIGKILL)
    events = await talk.until(is_idle)
    (error,) = [event.error for event in events if event.HasField("error")]
    assert "repeat the interrupted request" in error.message
    ended = [event.turn_complete for event in events if event.HasField("turn_complete")]
    assert [(turn.stop_reason, list(turn.message_ids)) for turn in ended] == [
        ("crashed", [broken.message_id]),
        ("end_turn", [waiting.message_id]),
    ]
    assert states_of(talk.events, broken.message_id)[-1] == "UNKNOWN"
    assert settled_text(events).endswith("whole")


async def test_an_agent_that_cannot_take_up_a_conversation_says_that_it_begins_anew(
    room: tuple[Daemon, Client],
) -> None:
    talk = await acp_talk(*room, "--no-resume", "--no-load")
    await talk.turn("say remember 42")
    await talk.say("die")
    await talk.until(is_idle)
    events = await talk.turn("remember")
    assert settled_text(events) == "nothing"
    assert "starts over" in str([event.notice.message for event in events])


async def test_an_error_ends_the_turn_and_not_the_session(talk: Talk) -> None:
    events = await talk.turn("error the model is out")
    [error] = [event.error for event in events if event.HasField("error")]
    assert error.message == "Internal error: the model is out"
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["error"]
    assert settled_text(await talk.turn("say fine")) == "fine"


async def test_a_turn_of_the_agents_own_is_a_turn(talk: Talk) -> None:
    await talk.turn("own a thought of mine\nsay done")
    events = await talk.until(is_idle)
    [turn] = [event.turn_complete for event in events if event.HasField("turn_complete")]
    assert (turn.origin, list(turn.message_ids), settled_text(events)) == ("agent", [], "a thought of mine")


async def test_who_is_not_logged_in_is_told_how_to(room: tuple[Daemon, Client]) -> None:
    talk = await acp_talk(*room, "--no-login")
    await talk.say("say hello")
    events = await talk.until("error")
    assert "Say the word to the scripted agent" in events[-1].error.message


async def test_a_version_that_is_not_spoken_here_is_told(room: tuple[Daemon, Client]) -> None:
    talk = await acp_talk(*room, "--version-2")
    await talk.say("say hello")
    assert "version 2 of the Agent Client Protocol" in (await talk.until("error"))[-1].error.message


async def test_the_mode_is_set_before_the_first_message(room: tuple[Daemon, Client]) -> None:
    talk = await acp_talk(*room, "--modes", config={"mode": "ask"})
    await talk.say("tool touch asked.txt")
    await talk.answer(await talk.asked(), allow=False)
    await talk.until(is_idle)


async def test_a_session_that_only_plans_is_in_plan_mode(room: tuple[Daemon, Client]) -> None:
    talk = await acp_talk(*room, "--modes", plan_mode=True)
    events = await talk.turn("say planned\nmode act")
    assert [event.plan_mode.active for event in events if event.HasField("plan_mode")] == [True, False]


async def test_a_model_that_the_agent_does_not_have_is_told(room: tuple[Daemon, Client]) -> None:
    talk = await acp_talk(*room, model="gpt-nothing")
    await talk.say("say hello")
    assert "model" in (await talk.until("error"))[-1].error.message


async def test_the_agent_lives_on_when_its_daemon_is_killed(room: tuple[Daemon, Client], tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await acp_talk(daemon, client)
        await talk.say("say before\nwait go\nsay after")
        await talk.until(lambda event: "waiting" in event.text_delta.text)
        daemon.kill()
        (daemon.work / "go").touch()
        await daemon.start()
        events = await talk.until(is_idle)
        assert settled_text(talk.events).endswith("after")
        assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["end_turn"]
        assert len(daemon.agent_pids) == 1


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"command": "goose acp"}, "JSON list"),
        ({"command": '["bin/goose"]'}, "relative path"),
        ({"command": '["no-such-program-here"]'}, "not found on the PATH"),
        ({"profile": "nobody"}, "Unknown profile"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_what_cannot_be_started_is_refused_with_a_sentence(
    room: tuple[Daemon, Client], config: dict[str, str], words: str
) -> None:
    with pytest.raises(Refused, match=words):
        await acp_talk(room[0], room[1], config=config)


async def test_the_agent_gets_no_descriptor_of_its_holder(talk: Talk) -> None:
    said = settled_text(await talk.turn("spawn ls /proc/self/fd"))
    assert sorted(map(int, said.split())) == [0, 1, 2, 3]  # and the one of the directory that is listed


async def test_no_agent_is_left_when_the_session_is_closed(room: tuple[Daemon, Client]) -> None:
    talk = await acp_talk(*room)
    await talk.turn("say hello")
    pid = room[0].agent_pids[-1]
    await talk.client.close(talk.session_id)
    await becomes_true(lambda: not Path(f"/proc/{pid}").exists())
