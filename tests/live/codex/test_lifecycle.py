"""The real Codex interrupted, killed, resumed, forked and compacted; and its daemon killed under it."""

import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from betcode.client import Refused
from betcode.domain.runs.journal_record import RecordKind
from betcode.holder.platform import descendants
from betcode.v1 import agent_pb2 as v1
from support.apis.openai.server import script
from support.daemon.process import becomes_true
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text, states_of
from support.providers.codex import CodexWorld, codex_world

pytestmark = pytest.mark.anyio

SLEEP = {"tools": [{"cmd": "sleep 4321", "extra": {"yield_time_ms": 30000}}]}


@pytest.fixture(scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CodexWorld]:
    async with codex_world(tmp_path_factory.mktemp("codex")) as world:
        yield world


def _commands(pid: int) -> list[str]:
    """What runs below a process, without what has ended."""
    living = (child.pid for child in descendants(pid) if not child.zombie)
    return [Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode() for child in living]


async def test_an_interrupt_ends_the_turn_and_the_command_that_runs(world: CodexWorld, tmp_path: Path) -> None:
    talk = await world.session(tmp_path, allowed_tools=("Bash",))
    await talk.say("Sleep " + script(SLEEP, {"text": "Slept."}))
    await talk.until("tool_call_start")
    agent = world.runs(tmp_path)[0].agent_pid
    await becomes_true(lambda: any("sleep 4321" in command for command in _commands(agent)))
    assert await world.client.cancel(talk.session_id)
    events = await talk.until(is_idle)
    turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
    assert turn.stop_reason == "cancelled"
    result = next(event.tool_call_result for event in talk.events if event.HasField("tool_call_result"))
    assert (result.output, result.is_error) == ("interrupted", True)
    await becomes_true(lambda: not any("sleep 4321" in command for command in _commands(agent)))
    # The process stays, and goes on with the conversation.
    assert settled_text(await talk.turn("Go on " + script({"text": "Went on."}))) == "Went on."
    assert [run.agent_pid for run in world.runs(tmp_path)] == [agent]


async def test_an_interrupt_takes_an_open_prompt_back(world: CodexWorld, tmp_path: Path) -> None:
    talk = await world.session(tmp_path)
    await talk.say("Touch " + script({"tools": [{"cmd": "touch never.txt"}]}, {"text": "Never said."}))
    request = await talk.asked()
    assert await world.client.cancel(talk.session_id)
    events = await talk.until(is_idle)
    assert [event.permission_resolved.request_id for event in events if event.HasField("permission_resolved")] == [
        request.request_id
    ]
    assert not (tmp_path / "never.txt").exists()


async def test_a_killed_codex_is_resumed_with_the_next_message(world: CodexWorld, tmp_path: Path) -> None:
    talk = await world.session(tmp_path, allowed_tools=("Bash",))
    await talk.turn("Remember 42 " + script({"text": "I will."}))
    broken = await talk.say("Sleep " + script(SLEEP, {"text": "Slept."}))
    await talk.until("tool_call_start")
    os.kill(world.runs(tmp_path)[0].agent_pid, signal.SIGKILL)
    await talk.until(is_idle)
    # Nobody knows how far it came: it is not sent again by itself.
    assert states_of(talk.events, broken.message_id)[-1] == "UNKNOWN"
    assert settled_text(await talk.turn("What did I say? " + script({"text": "You said 42."}))) == "You said 42."
    first, second = world.runs(tmp_path)
    said = [json.loads(line)["method"] for record in second.lines(RecordKind.IN) for line in record.splitlines()]
    assert said[2] == "thread/resume"
    assert "Remember 42" in json.dumps(world.requests(tmp_path)[-1].body)
    assert_whole(talk.events)
    await becomes_true(lambda: not first.alive)


async def test_a_conversation_that_codex_has_lost_is_a_clear_end(world: CodexWorld, tmp_path: Path) -> None:
    talk = await world.session(tmp_path)
    await talk.turn("Hello " + script({"text": "Hello."}))
    os.kill(world.runs(tmp_path)[0].agent_pid, signal.SIGKILL)
    sessions = Path(world.environment["HOME"]) / ".codex" / "sessions"
    thread = (await _thread_of(talk)).partition("@")[0]
    for file in sessions.rglob(f"*{thread}*"):
        file.unlink()
    await becomes_true(lambda: not world.runs(tmp_path)[0].alive)
    events = await talk.turn("Still there? " + script({"text": "No."}))
    error = next(event.error for event in events if event.HasField("error"))
    assert "no longer has this conversation" in error.message
    # The error is logged first; the agent's process ends a moment later.
    await becomes_true(lambda: not [run for run in world.runs(tmp_path) if run.alive])


async def _thread_of(talk: Talk) -> str:
    return next(event.turn_complete.fork_point for event in talk.events if event.HasField("turn_complete"))


async def test_a_fork_knows_what_was_said_before_it_and_nothing_behind_it(world: CodexWorld, tmp_path: Path) -> None:
    talk = await world.session(tmp_path)
    await talk.turn("Remember apples " + script({"text": "Apples."}))
    place = talk.position
    await talk.turn("Remember pears " + script({"text": "Pears."}))
    forked = await world.client.fork(talk.session_id, at_sequence=place)
    other = Talk(world.client, forked.session_id)
    await other.say("What do you know? " + script({"text": "Fruit."}))
    await other.until(lambda event: event.text_delta.text == "Fruit." and event.text_delta.is_complete)
    await other.until(is_idle)
    heard = json.dumps(world.requests(tmp_path)[-1].body)
    assert "Remember apples" in heard
    assert "Remember pears" not in heard
    usage = [event.usage for event in other.events if event.HasField("usage")]
    assert usage[-1].output_tokens == usage[0].output_tokens  # its own turn alone


async def test_a_compaction_puts_a_summary_in_place(world: CodexWorld, tmp_path: Path) -> None:
    talk = await world.session(tmp_path)
    await talk.turn("Remember 42 " + script({"text": "I will."}))
    await world.client.compact(talk.session_id)
    events = await talk.until("compaction")
    assert events[-1].compaction.trigger == "manual"
    await talk.until(is_idle)
    assert settled_text(await talk.turn("Then " + script({"text": "Fine."}))) == "Fine."


async def test_an_answer_cannot_change_what_is_run(world: CodexWorld, tmp_path: Path) -> None:
    talk = await world.session(tmp_path)
    await talk.say("Touch " + script({"tools": [{"cmd": "touch one.txt"}]}, {"text": "Done."}))
    request = await talk.asked()
    edited = v1.PermissionResponse(decision=v1.ALLOW_WITH_EDIT, updated_input_json='{"command": "touch two.txt"}')
    with pytest.raises(Refused):
        await world.client.answer(request.request_id, edited)
    await talk.answer(request, allow=True)
    await talk.until(is_idle)
    assert (tmp_path / "one.txt").exists()


async def test_a_daemon_that_is_killed_finds_the_prompt_and_its_codex_again(tmp_path: Path) -> None:
    async with codex_world(tmp_path / "root") as world:
        work = tmp_path / "work"
        work.mkdir()
        talk = await world.session(work)
        await talk.say("Patch " + script({"tools": [{"cmd": "touch one.txt"}]}, {"text": "Done."}))
        request = await talk.asked()
        await world.daemon.restart()
        assert [each.request_id for each in await world.client.pending(talk.session_id)] == [request.request_id]
        await talk.answer(request, allow=True)
        events = await talk.until(is_idle)
        assert settled_text(events) == "Done."
        assert (work / "one.txt").exists()
        assert len(world.runs(work)) == 1
        assert kinds(talk.events).count("permission_request") == 1
        assert_whole(talk.events)
