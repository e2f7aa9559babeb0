"""The real opencode from npm, through daemon, holder, log and client, against a stand-in for its model."""

import os
import signal
from pathlib import Path

import pytest

from betcode.v1 import agent_pb2 as v1
from support.apis.openai.server import script
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text, states_of, streamed_text
from support.providers.opencode import MODEL, OpencodeWorld, opencode_world

pytestmark = pytest.mark.anyio


async def test_a_session_of_opencode_from_its_first_word_to_its_second_life(tmp_path: Path) -> None:
    async with opencode_world(tmp_path) as world:
        talk = await world.session(model="fake-model")
        await _speaks(talk)
        await _is_asked_for_commands(world, talk)
        await _writes_when_it_is_allowed(world, talk)
        await _ends_its_turn_when_it_is_denied(world, talk)
        await _is_cancelled_in_a_command(talk)
        await _tells_errors(talk)
        await _is_killed_and_taken_up(world, talk)
        assert_whole(talk.events)


async def _speaks(talk: Talk) -> None:
    accepted = await talk.say("Hello " + script({"think": "Greet.", "text": "Hello from the stand-in."}))
    events = await talk.until(is_idle)
    assert streamed_text(events) == settled_text(events) == "Hello from the stand-in."
    turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
    assert (turn.stop_reason, list(turn.message_ids)) == ("end_turn", [accepted.message_id])
    usage = next(event.usage for event in events if event.HasField("usage"))
    assert usage.model == MODEL
    assert usage.input_tokens > 0
    commands = [command.name for event in talk.events for command in event.session_info.commands]
    assert "init" in commands


async def _is_asked_for_commands(world: OpencodeWorld, talk: Talk) -> None:
    stdin = str(Path(f"/proc/{world.agent_pid}/fd/0").readlink())
    assert stdin.startswith("socket:")
    look = "ls -l /proc/self/fd; echo one > made.txt"
    await talk.say("Look " + script({"text": "Looking.", "tools": [{"cmd": look}]}, {"text": "Seen."}))
    request = await talk.asked()
    assert (request.tool_name, request.input.fields["command"].string_value) == ("Bash", look)
    assert not (world.work / "made.txt").exists()
    await talk.answer(request, allow=True)
    events = await talk.until(is_idle)
    assert settled_text(events) == "Seen."
    [result] = [event.tool_call_result for event in events if event.HasField("tool_call_result")]
    assert not result.is_error
    assert "0 -> " in result.output
    assert stdin not in result.output  # what the holder keeps of the agent does not reach its tools
    assert (world.work / "made.txt").read_text() == "one\n"


async def _writes_when_it_is_allowed(world: OpencodeWorld, talk: Talk) -> None:
    path = world.work / "new.txt"
    write = {"name": "write", "args": {"filePath": str(path), "content": "written\n"}}
    await talk.say("Write " + script({"tools": [write]}, {"text": "Written."}))
    request = await talk.asked()
    assert request.tool_name in ("Write", "Edit")
    assert request.input.fields["file_path"].string_value == str(path)
    await talk.answer(request, allow=True)
    assert settled_text(await talk.until(is_idle)) == "Written."
    assert path.read_text() == "written\n"


async def _ends_its_turn_when_it_is_denied(world: OpencodeWorld, talk: Talk) -> None:
    await talk.say("Try " + script({"tools": [{"cmd": "touch denied.txt"}]}, {"text": "not reached"}))
    await talk.answer(await talk.asked(), allow=False)
    events = await talk.until(is_idle)
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["end_turn"]
    [result] = [event.tool_call_result for event in events if event.HasField("tool_call_result")]
    assert (result.is_error, result.denied_by) == (True, "answer")
    assert not (world.work / "denied.txt").exists()


async def _is_cancelled_in_a_command(talk: Talk) -> None:
    await talk.say("Sleep " + script({"tools": [{"cmd": "sleep 1000"}]}, {"text": "not reached"}))
    await talk.answer(await talk.asked(), allow=True)
    await talk.until(lambda event: event.status_change.status == v1.EXECUTING_TOOL)
    await talk.client.cancel(talk.session_id)
    events = await talk.until(is_idle)
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["cancelled"]


async def _tells_errors(talk: Talk) -> None:
    events = await talk.turn("Fail " + script({"http": 401, "message": "no such key"}))
    [error] = [event.error for event in events if event.HasField("error")]
    assert "no such key" in error.message
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["error"]


async def _is_killed_and_taken_up(world: OpencodeWorld, talk: Talk) -> None:
    lost = await talk.say("Hang " + script({"text": "Half of it is lost.", "hang": "for ever"}))
    await talk.until(lambda event: event.text_delta.text.startswith("Half"))
    os.kill(world.agent_pid, signal.SIGKILL)
    assert states_of(await talk.until(is_idle), lost.message_id)[-1] == "UNKNOWN"
    number = len(world.api.requests)
    events = await talk.turn("Go on " + script({"text": "Went on."}))
    assert settled_text(events) == "Went on."
    assert "tool_call_start" not in kinds(events)
    assert "Hello from the stand-in." in str(world.api.requests[number].body)  # it knows what was said before
