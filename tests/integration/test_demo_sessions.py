"""Sessions of the demo agent, as a newcomer meets them: through a daemon, with no CLI and no account."""

import os
import signal
from pathlib import Path

import pytest

from betcode.v1 import agent_pb2 as v1
from support.daemon.process import becomes_true
from support.daemon.runs import runs_in
from support.daemon.session import assert_whole, is_idle, kinds, settled_text, states_of
from support.providers.claude_world import demo_sessions, demo_talk

pytestmark = pytest.mark.anyio


async def test_a_greeting_needs_no_permission(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=0)
        events = await talk.turn("Say hello to a newcomer")
        assert "demo agent" in settled_text(events)
        assert "permission_request" not in kinds(events)
        turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
        assert turn.stop_reason == "end_turn"
        infos = [event.session_info for event in events if event.HasField("session_info")]
        assert infos[-1].model == "betcode-demo"
        assert infos[-1].working_directory == str(daemon.work)
        assert_whole(talk.events)


@pytest.mark.parametrize(("allow", "heard"), [(True, "You allowed it"), (False, "You denied it")])
async def test_a_permission_is_asked_and_heard(tmp_path: Path, allow: bool, heard: str) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=0)
        await talk.say("show me a tool")
        request = await talk.asked()
        assert (request.tool_name, request.description) == ("Bash", "Write a greeting to a file")
        await talk.answer(request, allow=allow)
        events = await talk.until(is_idle)
        assert heard in settled_text(events)
        results = [event.tool_call_result.is_error for event in events if event.HasField("tool_call_result")]
        assert results == [not allow]


async def test_a_question_is_asked_and_its_answer_comes_back(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=0)
        await talk.say("ask me a question")
        question = (await talk.until("user_question"))[-1].user_question
        assert [option.label for option in question.options] == ["A tour", "A tool call"]
        answered = await client.answer_question(question.question_id, {question.question: "A tour"})
        assert answered.group_complete
        events = await talk.until(is_idle)
        result = next(event.tool_call_result for event in events if event.HasField("tool_call_result"))
        assert "A tour" in result.output
        assert not result.is_error


async def test_a_long_answer_can_be_stopped_and_the_agent_stays(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=4)
        await talk.say("something long")
        await talk.until("text_delta")
        assert await client.cancel(talk.session_id)
        events = await talk.until(is_idle)
        turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
        assert turn.stop_reason == "cancelled"
        await talk.turn("hello")
        assert len(runs_in(daemon.paths.runs)) == 1


async def test_a_killed_agent_is_followed_by_one_that_plays_the_message_again(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=0)
        first = await talk.say("permission")
        await talk.asked()
        os.kill(runs_in(daemon.paths.runs)[0].agent_pid, signal.SIGKILL)
        await talk.answer(await talk.asked(), allow=True)
        await talk.until(is_idle)
        assert states_of(talk.events, first.message_id).count("CONSUMED") == 1
        assert len(runs_in(daemon.paths.runs)) == 2
        assert_whole(talk.events)


@pytest.mark.behaviour("lifecycle.daemon.spawn-on-demand")
async def test_a_daemon_that_finds_idle_sessions_starts_no_agent(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path, settings={"agents": {"idle_retire": "200ms"}}) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=0)
        await talk.turn("hello")
        await talk.summary_when(lambda summary: summary.run_state == "exited")
        await daemon.stop()
        daemon.configure({})
        await daemon.start()
        assert (await talk.summary()).status == "idle"
        await becomes_true(lambda: [process.pid for process in daemon.processes()] == [daemon.pid])
        assert len(runs_in(daemon.paths.runs)) == 1, "no other agent was started meanwhile"
        await talk.turn("hello again")
        await becomes_true(lambda: len(daemon.processes()) == 3)  # and a holder with its agent


async def test_a_journal_of_one_session_can_be_played_in_another(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=0)
        original = await talk.turn("what is this?")
        (run,) = runs_in(daemon.paths.runs)
        copy = await demo_talk(daemon, client, speed=0, cassette=run.directory)
        played = await copy.turn("again, please")
        assert settled_text(played) == settled_text(original)
        assert kinds(played) == kinds(original)


async def test_the_tour_shows_everything_that_a_screen_can_show(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=0)
        await talk.say("tour")
        request = await talk.asked()
        assert request.tool_name == "Edit"
        await talk.answer(request, allow=True)
        question = (await talk.until("user_question"))[-1].user_question
        await client.answer_question(question.question_id, {question.question: question.options[0].label})
        await talk.until(is_idle)
        wanted = {"thinking_delta", "text_delta", "tool_call_start", "tool_call_result", "todo_update"}
        assert wanted <= set(kinds(talk.events))
        below = [event for event in talk.events if event.parent_tool_use_id]
        assert {event.tool_call_start.tool_name for event in below if event.HasField("tool_call_start")} == {
            "Grep",
            "Read",
        }
        todos = [event.todo_update for event in talk.events if event.HasField("todo_update")]
        assert [len(one.items) for one in todos] == [3, 3, 3, 3]
        assert {item.status for item in todos[-1].items} == {v1.COMPLETED}
        assert list(daemon.work.iterdir()) == []
        assert_whole(talk.events)
