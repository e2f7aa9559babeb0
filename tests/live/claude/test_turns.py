"""Turns of the real CLI, through daemon, holder, log and client."""

import threading
from pathlib import Path

import pytest

from betcode.domain.runs.journal_record import RecordKind
from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import Failure, Scripts, bash, say, use
from support.daemon.process import becomes_true
from support.daemon.session import assert_whole, is_idle, kinds, settled_text, states_of, streamed_text
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

HELLO = "Hello! This comes word by word."
RETIRED_SOON = {"agents": {"idle_retire": "300ms"}}


@pytest.mark.behaviour("events.order.end-of-turn")
async def test_a_text_turn_streams_settles_and_ends(tmp_path: Path) -> None:
    async with claude_world(tmp_path, {"hello": [say(HELLO)]}) as world:
        talk = await world.session()
        accepted = await talk.say("[[fake:hello]] hello")
        events = await talk.until(is_idle)
        assert streamed_text(events) == HELLO
        assert settled_text(events) == HELLO
        assert [name for name in kinds(events) if name in ("usage", "turn_complete")] == ["usage", "turn_complete"]
        turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
        assert (turn.stop_reason, list(turn.message_ids)) == ("end_turn", [accepted.message_id])
        assert states_of(events, accepted.message_id)[-1] == "CONSUMED"
        usage = next(event.usage for event in events if event.HasField("usage"))
        assert (usage.input_tokens, usage.output_tokens) == (100, 20)
        assert_whole(talk.events)
        assert world.api.calls("hello") == [0]


async def test_an_allowed_tool_runs(tmp_path: Path) -> None:
    scripts = {"touch": [bash("echo made >> made.txt", "Make a file"), say("Done.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:touch]] make it")
        request = await talk.asked()
        assert (request.tool_name, request.description) == ("Bash", "Make a file")
        assert not (world.work / "made.txt").exists()
        assert await talk.answer(request, allow=True) is False
        events = await talk.until(is_idle)
        result = next(event.tool_call_result for event in events if event.HasField("tool_call_result"))
        assert (result.tool_id, result.is_error) == (request.tool_use_id, False)
        assert settled_text(events) == "Done."
        assert (world.work / "made.txt").read_text() == "made\n"
        starts = [event.tool_call_start.tool_id for event in talk.events if event.HasField("tool_call_start")]
        assert starts == [request.tool_use_id]


async def test_a_denied_tool_does_not_run_and_the_turn_goes_on(tmp_path: Path) -> None:
    scripts = {"touch": [bash("echo made >> made.txt"), say("Then not.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:touch]] make it")
        await talk.answer(await talk.asked(), allow=False, message="Not in this directory.")
        events = await talk.until(is_idle)
        result = next(event.tool_call_result for event in events if event.HasField("tool_call_result"))
        assert result.is_error
        assert "Not in this directory." in result.output
        assert settled_text(events) == "Then not."
        assert not (world.work / "made.txt").exists()
        assert not (await talk.client.pending(talk.session_id))


@pytest.mark.behaviour("lifecycle.run.stays-after-turn")
async def test_two_turns_share_one_process(tmp_path: Path) -> None:
    async with claude_world(tmp_path, {"one": [say("One.")], "two": [say("Two.")]}) as world:
        talk = await world.session()
        first = await talk.turn("[[fake:one]]")
        pid = world.runs[0].agent_pid
        second = await talk.turn("[[fake:two]]")
        assert (settled_text(first), settled_text(second)) == ("One.", "Two.")
        assert [run.agent_pid for run in world.runs] == [pid]
        assert world.runs[0].alive
        assert_whole(talk.events)


async def test_a_retired_agent_is_resumed_with_its_history(tmp_path: Path) -> None:
    scripts = {"one": [say("One.")], "two": [say("Two.")]}
    async with claude_world(tmp_path, scripts, settings=RETIRED_SOON) as world:
        talk = await world.session()
        await talk.turn("[[fake:one]]")
        await talk.summary_when(lambda summary: summary.run_state == "exited")
        await becomes_true(lambda: not world.runs[0].alive)
        assert settled_text(await talk.turn("[[fake:two]]")) == "Two."
        assert len(world.runs) == 2
        first, second = world.api.requests
        assert first.session == second.session == talk.session_id
        assert second.messages > first.messages
        assert_whole(talk.events)
        usage = [event.usage.cost_usd for event in talk.events if event.HasField("usage")]
        assert usage[1] == pytest.approx(usage[0])  # of its own turn, though the agent reports a sum over both


async def test_an_api_error_ends_the_turn_and_the_next_one_works(tmp_path: Path) -> None:
    scripts: Scripts = {
        "bad": [Failure(400, "invalid_request_error", "the model did not like it")],
        "good": [say("Fine.")],
    }
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        events = await talk.turn("[[fake:bad]]")
        error = next(event.error for event in events if event.HasField("error"))
        assert "the model did not like it" in error.message
        assert not error.is_fatal
        turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
        assert turn.stop_reason == "error"
        assert settled_text(await talk.turn("[[fake:good]]")) == "Fine."
        assert len(world.runs) == 1


async def test_a_retried_api_error_is_shown_and_passes(tmp_path: Path) -> None:
    busy = Failure(529, "overloaded_error", "Overloaded", times=1, then=say("Better."))
    async with claude_world(tmp_path, {"busy": [busy]}) as world:
        talk = await world.session()
        events = await talk.turn("[[fake:busy]]")
        retries = [event.notice for event in events if event.notice.kind == v1.NOTICE_KIND_API_RETRY]
        assert len(retries) == 1
        assert settled_text(events) == "Better."


async def test_a_line_of_a_megabyte_passes(tmp_path: Path) -> None:
    big = tmp_path / "work" / "big.txt"
    scripts = {
        "edit": [
            use("Read", {"file_path": str(big), "limit": 3}),
            use("Edit", {"file_path": str(big), "old_string": "first line", "new_string": "FIRST LINE"}),
            say("Edited."),
        ]
    }
    async with claude_world(tmp_path, scripts) as world:
        big.write_text("first line\n" + "a line of a rather large text file\n" * 35_000)
        talk = await world.session(allowed_tools=("Read", "Edit"))
        events = await talk.turn("[[fake:edit]]")
        assert settled_text(events) == "Edited."
        assert big.read_text().startswith("FIRST LINE\n")
        assert max(len(line) for line in world.runs[0].lines(RecordKind.OUT)) > 1_000_000
        results = [event.tool_call_result for event in events if event.HasField("tool_call_result")]
        assert [result.is_error for result in results] == [False, False]
        assert max(event.ByteSize() for event in events) <= 256 * 1024
        assert_whole(talk.events)


@pytest.mark.behaviour("events.user-input", "converse.turn.messages-merge")
async def test_messages_sent_during_a_turn_are_queued_and_answered(tmp_path: Path) -> None:
    gate = threading.Event()
    # Slow enough behind the gate for the agent to have read what it was sent before.
    slow = say("Slowly, slowly, slowly.", gate=gate, gate_after_chunks=1, chunk_delay_s=0.3)
    scripts = {"slow": [slow], "later": [say("Later.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        first = await talk.say("[[fake:slow]]")
        await talk.until("text_delta")
        second = await talk.say("[[fake:later]] the second")
        third = await talk.say("[[fake:later]] the third")
        await talk.until(lambda event: event.message_state.message_id == third.message_id)
        gate.set()
        await talk.until(lambda event: third.message_id in event.turn_complete.message_ids)
        await talk.until(is_idle)
        turns = [event.turn_complete for event in talk.events if event.HasField("turn_complete")]
        assert [name for turn in turns for name in turn.message_ids] == [
            first.message_id,
            second.message_id,
            third.message_id,
        ]
        for message in (first, second, third):
            assert states_of(talk.events, message.message_id)[-1] == "CONSUMED"
        inputs = [event.user_input.message_id for event in talk.events if event.HasField("user_input")]
        assert inputs == [first.message_id, second.message_id, third.message_id]
        assert world.api.calls("later") == [0]  # both in one turn
        assert len(world.runs) == 1
        assert_whole(talk.events)


async def test_a_cancelled_turn_ends_and_the_agent_stays(tmp_path: Path) -> None:
    gate = threading.Event()
    scripts = {"slow": [say("Slowly, slowly, slowly.", gate=gate, gate_after_chunks=1)], "next": [say("Next.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:slow]]")
        await talk.until("text_delta")
        assert await talk.client.cancel(talk.session_id)
        events = await talk.until(is_idle)
        turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
        assert turn.stop_reason == "cancelled"
        gate.set()
        assert settled_text(await talk.turn("[[fake:next]]")) == "Next."
        assert len(world.runs) == 1


async def test_the_model_of_the_session_is_the_one_that_is_asked(tmp_path: Path) -> None:
    async with claude_world(tmp_path, {"hello": [say(HELLO)]}) as world:
        talk = await world.session(model="claude-sonnet-4-5")
        events = await talk.turn("[[fake:hello]]")
        assert world.api.requests[0].model.startswith("claude-sonnet-4-5")
        infos = [event.session_info.model for event in events if event.HasField("session_info")]
        assert infos
        assert infos[-1].startswith("claude-sonnet-4-5")


async def test_plan_mode_takes_effect(tmp_path: Path) -> None:
    scripts = {"touch": [bash("echo made >> made.txt"), say("I only plan.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session(plan_mode=True)
        events = await talk.turn("[[fake:touch]]")
        assert [event.plan_mode.active for event in events if event.HasField("plan_mode")] == [True]
        assert not (world.work / "made.txt").exists()


async def test_an_allowed_tool_name_is_not_asked_for(tmp_path: Path) -> None:
    scripts = {"touch": [bash("touch made.txt"), say("Done.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session(allowed_tools=("Bash(touch *)", "Read"))
        events = await talk.turn("[[fake:touch]]")
        assert "permission_request" not in kinds(events)
        assert (world.work / "made.txt").exists()
