"""Sessions of our agent for OpenAI-compatible APIs through a real daemon: permissions, cancels, and sudden deaths."""

import json
import os
import resource
import signal
from pathlib import Path

import anyio.to_thread
import pytest

from betcode.v1 import agent_pb2 as v1
from support.apis.openai.server import script
from support.apis.openai.sessions import KEY, KEY_VARIABLE, WIRES, OpenAiWorld, openai_world
from support.daemon.runs import gone
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text, states_of
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
both_wires = pytest.mark.parametrize("wire", WIRES)


def results(talk: Talk) -> list[v1.ToolCallResult]:
    return [event.tool_call_result for event in talk.events if event.HasField("tool_call_result")]


@both_wires
async def test_a_session_on_either_wire(tmp_path: Path, wire: str) -> None:
    """Text, a denial, an edit that a person changes, an allowed command; what the command sees of the agent."""
    async with openai_world(tmp_path, wire) as world:
        talk = await world.session()
        look = f"env; ls -l /proc/self/fd; tr '\\0' '\\n' < /proc/$PPID/environ | grep -a {KEY_VARIABLE}"
        await talk.say(
            "Work "
            + script(
                {"think": "So.", "text": "I will.", "tools": [{"cmd": "touch denied"}]},
                {"tools": [{"name": "write", "args": {"path": "a.txt", "content": "theirs"}}]},
                {"tools": [{"cmd": look}]},
                {"text": "All of it."},
            )
        )
        denied = await talk.asked()
        assert (denied.tool_name, json.loads(denied.input_json)) == ("Bash", {"command": "touch denied"})
        await talk.answer(denied, allow=False, message="Rather not")
        write = await talk.asked()
        assert write.tool_name == "Write"
        changed = json.dumps({"file_path": str(world.work / "a.txt"), "content": "ours"})
        response = v1.PermissionResponse(decision=v1.ALLOW_WITH_EDIT, updated_input_json=changed)
        await world.client.answer(write.request_id, response)
        await talk.answer(await talk.asked(), allow=True)
        await talk.until(is_idle)
        assert settled_text(talk.events) == "I will.All of it."
        assert not (world.work / "denied").exists()
        assert (world.work / "a.txt").read_text() == "ours"
        refused, written, seen = results(talk)
        assert (refused.is_error, written.is_error, seen.is_error) == (True, False, False)
        assert "Rather not" in refused.output
        assert KEY not in seen.output
        assert "socket:" not in seen.output  # of stdin, or of the end of it that the holder keeps in the agent
        usage = next(event.usage for event in talk.events if event.HasField("usage"))
        assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (3260, 800, 200)
        assert_whole(talk.events)
        assert KEY not in world.daemon.log
        assert all(KEY.encode() not in path.read_bytes() for path in world.transcripts.iterdir())


async def test_a_cancel_reaches_stream_command_and_question(tmp_path: Path) -> None:
    async with openai_world(tmp_path) as world:
        talk = await world.session()
        await talk.say(script({"text": "Half a", "hang": True}))
        await talk.until(lambda event: event.text_delta.text == "a")
        await world.client.cancel(talk.session_id)
        await talk.until(is_idle)
        assert await anyio.to_thread.run_sync(world.api.requests[0].hung_up.wait, PATIENCE_S)

        await talk.say(script({"tools": [{"cmd": "echo $$ > pid; exec sleep 600"}]}, {"text": "x"}))
        await talk.answer(await talk.asked(), allow=True)
        await talk.until(lambda event: event.status_change.status == v1.EXECUTING_TOOL)
        await world.client.cancel(talk.session_id)
        await talk.until(is_idle)
        if (world.work / "pid").exists():
            await gone(int((world.work / "pid").read_text()))

        await talk.say(script({"tools": [{"cmd": "touch never"}]}, {"text": "x"}))
        await talk.asked()
        await world.client.cancel(talk.session_id)
        await talk.until(is_idle)
        ends = [event.turn_complete.stop_reason for event in talk.events if event.HasField("turn_complete")]
        assert ends == ["cancelled"] * 3
        assert settled_text(await talk.turn(script({"text": "Still here."}))) == "Still here."
        assert not (world.work / "never").exists()
        assert len(world.runs) == 1
        assert_whole(talk.events)


async def killed(world: OpenAiWorld) -> None:
    """kill -9 of the agent itself."""
    pid = world.runs[-1].agent_pid
    os.kill(pid, signal.SIGKILL)
    await gone(pid)


async def test_an_agent_killed_in_a_turn_continues_and_repeats_nothing(tmp_path: Path) -> None:
    async with openai_world(tmp_path) as world:
        talk = await world.session()
        accepted = await talk.say(script({"text": "One two", "hang": True}))
        await talk.until(lambda event: event.text_delta.text == "two")
        await killed(world)
        world.api.release()
        await talk.until(is_idle)
        assert settled_text(talk.events) == "One two"
        assert states_of(talk.events, accepted.message_id)[-1] == "CONSUMED"

        os.mkfifo(world.work / "gate")
        command = "echo ran >> log; cat gate; echo after >> log"
        await talk.say(script({"text": "I run it.", "tools": [{"cmd": command}]}, {"text": "I looked."}))
        await talk.answer(await talk.asked(), allow=True)
        await talk.until(lambda event: event.status_change.status == v1.EXECUTING_TOOL)
        gate = await anyio.to_thread.run_sync((world.work / "gate").open, "w")  # which waits for its reader
        with gate:
            await killed(world)
            await talk.until(is_idle)
        assert (world.work / "log").read_text() == "ran\n"
        assert settled_text(talk.events) == "One twoI run it.I looked."
        assert all(result.is_error for result in results(talk))
        assert "it is not known how far it got" in json.dumps(world.api.requests[-1].body)
        assert kinds(talk.events).count("turn_complete") == 2
        assert_whole(talk.events)


async def test_a_question_of_a_killed_agent_is_asked_again_and_the_conversation_outlives_the_daemon(
    tmp_path: Path,
) -> None:
    async with openai_world(tmp_path, "chat") as world:
        talk = await world.session()
        calls = [{"cmd": "echo one >> log"}, {"cmd": "echo two >> log"}]
        await talk.say("Remember 42. " + script({"tools": calls}, {"text": "Both."}))
        await talk.answer(await talk.asked(), allow=True)
        second = await talk.asked()
        await killed(world)
        again = await talk.asked()
        assert (again.input_json, again.supersedes) == (second.input_json, second.request_id)
        await talk.answer(again, allow=True)
        await talk.until(is_idle)
        assert (world.work / "log").read_text() == "one\ntwo\n"
        assert settled_text(talk.events) == "Both."
        assert kinds(talk.events).count("turn_complete") == 1

        world.daemon.kill()
        await killed(world)
        await world.daemon.start()
        events = await talk.turn("Which number? " + script({"text": "It was 42."}))
        assert settled_text(events) == "It was 42."
        assert "Remember 42" in json.dumps(world.api.requests[-1].body)
        assert_whole(talk.events)


async def test_a_deny_rule_holds_for_reading_inside_and_a_deleted_session_leaves_nothing(tmp_path: Path) -> None:
    settings = {"permissions": {"deny": ["Read(./.env)"]}}
    async with openai_world(tmp_path) as world:
        (world.work / ".claude").mkdir()
        (world.work / ".claude" / "settings.json").write_text(json.dumps(settings))
        (world.work / ".env").write_text("PASSWORD=hunter2\n")
        talk = await world.session()
        await talk.turn(script({"tools": [{"name": "read", "args": {"path": ".env"}}]}, {"text": "No."}))
        assert [result.is_error for result in results(talk)] == [True]
        assert "hunter2" not in json.dumps(world.api.requests[-1].body)
        # And a session that is deleted leaves no transcript.
        assert [path.stem for path in world.transcripts.iterdir()] == [talk.session_id]
        await world.client.delete(talk.session_id)
        assert list(world.transcripts.iterdir()) == []


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="another process cannot be limited here")
async def test_a_transcript_on_a_full_disk_is_reported_and_continues_later(
    tmp_path: Path,
) -> None:
    async with openai_world(tmp_path) as world:
        talk = await world.session()
        await talk.say(script({"tools": [{"cmd": "echo ran >> log"}]}, {"text": "Done."}))
        question = await talk.asked()
        # Room for the line that it begins, and not for what came of it.
        room = next(world.transcripts.iterdir()).stat().st_size + 45
        resource.prlimit(world.runs[-1].agent_pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        await talk.answer(question, allow=True)
        await talk.until(is_idle)
        said = [event.error.message for event in talk.events if event.HasField("error")]
        assert ["transcript cannot be written" in each for each in said] == [True]
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(world.runs[-1].agent_pid, resource.RLIMIT_FSIZE, unlimited)
        assert settled_text(await talk.turn(script({"text": "Going on."}))) == "Going on."
        assert "it is not known how far it got" in json.dumps(world.api.requests[-1].body)
        assert (world.work / "log").read_text() == "ran\n"
        assert len(world.runs) == 1
