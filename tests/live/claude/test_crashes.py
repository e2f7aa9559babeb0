"""Daemon, holder or agent killed under a real turn."""

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.holder.launch import holder_pid
from betcode.holder.platform import descendants
from support.apis.messages.script import bash, say
from support.apis.messages.server import model_api
from support.daemon.runs import RunOnDisk, gone, runs_in
from support.daemon.session import assert_whole, is_idle, kinds, settled_text, states_of, streamed_text
from support.engine.engine import EngineSession, a_session, engine
from support.patience import PATIENCE_S
from support.providers.claude import CLAUDE, claude_environment, needs_claude
from support.providers.claude_world import claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

ENDLESS = bash("echo begun > started; until [ -e never ]; do sleep 0.1; done")


async def kill_holder(run: RunOnDisk) -> None:
    """SIGKILL; returns when the agent and everything it began is gone too."""
    tree = [run.agent_pid, *(process.pid for process in descendants(run.agent_pid))]
    holder = holder_pid(run.directory)
    assert holder
    os.kill(holder, signal.SIGKILL)
    for pid in tree:
        await gone(pid)


@contextmanager
def sign_of_life(work: Path) -> Iterator[int]:
    """A pipe in the working directory, called `started`, that a tool can write to."""
    path = work / "started"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def tool_at_work(started: int) -> None:
    """The command of the script has begun."""
    with anyio.fail_after(PATIENCE_S):
        await anyio.wait_readable(started)


async def transcript_has(root: Path, text: str) -> None:
    """The agent has written this down, wherever below `root` it keeps its conversations."""
    with anyio.fail_after(PATIENCE_S):
        while not any(text in path.read_text() for path in root.rglob("projects/*/*.jsonl")):  # noqa: ASYNC110
            await anyio.sleep(0.02)


@pytest.mark.behaviour("permission.restart.still-open", "permission.pending.none-lost")
async def test_the_next_daemons_answer_reaches_the_agent_and_the_tool_runs_once(tmp_path: Path) -> None:
    scripts = {"append": [bash("echo ran >> ran.txt"), say("Done.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:append]]")
        request = await talk.asked()
        pid = world.runs[0].agent_pid
        await world.daemon.restart()
        pending = await talk.client.pending(talk.session_id)
        assert [prompt.request_id for prompt in pending] == [request.request_id]
        await talk.answer(request, allow=True)
        events = await talk.until(is_idle)
        assert settled_text(events) == "Done."
        assert (world.work / "ran.txt").read_text() == "ran\n"
        assert [run.agent_pid for run in world.runs] == [pid]
        assert world.api.calls("append") == [0, 1]
        assert_whole(talk.events)


@pytest.mark.behaviour("permission.replay.in-flight-answer")
async def test_an_answer_given_just_before_the_kill_is_spent_once(tmp_path: Path) -> None:
    scripts = {"append": [bash("echo ran >> ran.txt"), say("Done.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:append]]")
        request = await talk.asked()
        await talk.answer(request, allow=True)
        await world.daemon.restart()
        assert await talk.answer(request, allow=True) is True  # said before, nothing twice
        events = await talk.until(is_idle)
        assert settled_text(events) == "Done."
        assert (world.work / "ran.txt").read_text() == "ran\n"
        assert_whole(talk.events)


async def test_a_turn_streams_on_over_a_killed_daemon(tmp_path: Path) -> None:
    gate = threading.Event()
    text = "One two three four five six seven eight nine ten."
    async with claude_world(tmp_path, {"slow": [say(text, gate=gate, gate_after_chunks=2)]}) as world:
        talk = await world.session()
        await talk.say("[[fake:slow]]")
        await talk.until("text_delta")
        world.daemon.kill()
        gate.set()
        await world.daemon.start()
        await talk.until(is_idle)
        assert streamed_text(talk.events) == text
        assert settled_text(talk.events) == text
        assert world.api.calls("slow") == [0]
        assert len(world.runs) == 1
        assert_whole(talk.events)


async def test_a_killed_holder_takes_agent_and_tool_along_and_nobody_calls_the_model_for_it(tmp_path: Path) -> None:
    until_cancelled = CrashPolicy(first_wait_s=10 * PATIENCE_S, longest_wait_s=10 * PATIENCE_S)
    with model_api({"wait": [ENDLESS, say("Never said.")]}) as api:
        async with engine(tmp_path, until_cancelled, program=CLAUDE) as first:
            environment = claude_environment(tmp_path / "agent-home", api.url)
            new = replace(a_session(first.work), environment=environment, allowed_tools=("Bash",))
            here = EngineSession(first.supervisor, first.store, await first.supervisor.create(new), first.work)
            with sign_of_life(here.work) as started:
                lost = await here.say("[[fake:wait]]")
                await tool_at_work(started)
            calls = len(api.requests)
            await kill_holder(runs_in(tmp_path / "runs")[-1])
            events = await here.until(lambda event: event.HasField("error"))
            assert events[-1].error.code == "SUBPROCESS_CRASHED"
            assert events[-1].error.details["tools"] == "Bash"
            await here.supervisor.cancel_turn(here.session)
            await here.until(is_idle)
            assert len(api.requests) == calls
            assert states_of(here.events, lost)[-1] == "CANCELLED"
            assert_whole(here.events)


async def test_an_open_prompt_is_asked_again_after_a_killed_holder(tmp_path: Path) -> None:
    scripts = {"append": [bash("echo ran >> ran.txt"), say("Done.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        message = await talk.say("[[fake:append]]")
        old = await talk.asked()
        await kill_holder(world.runs[-1])
        await talk.until("error")
        (open_one,) = await talk.client.pending(talk.session_id)
        assert (open_one.request_id, open_one.agent_is_gone) == (old.request_id, True)
        again = await talk.asked()
        assert again.supersedes == old.request_id
        (resolved,) = [event.permission_resolved for event in talk.events if event.HasField("permission_resolved")]
        assert (resolved.request_id, resolved.resolution) == (old.request_id, "superseded")
        assert resolved.superseded_by == again.request_id
        assert (again.tool_name, again.input_json) == (old.tool_name, old.input_json)
        await talk.answer(again, allow=True)
        events = await talk.until(is_idle)
        assert settled_text(events) == "Done."
        assert (world.work / "ran.txt").read_text() == "ran\n"
        assert states_of(talk.events, message.message_id)[-1] == "CONSUMED"
        assert_whole(talk.events)


@pytest.mark.behaviour("recovery.crash.resumes")
async def test_a_killed_agent_is_started_again_and_ends_the_turn_it_was_in(tmp_path: Path) -> None:
    gate = threading.Event()
    text = "One two three four five six seven eight nine ten."
    async with claude_world(tmp_path, {"slow": [say(text, gate=gate, gate_after_chunks=2)]}) as world:
        talk = await world.session()
        message = await talk.say("[[fake:slow]]")
        await talk.until("text_delta")
        os.kill(world.runs[0].agent_pid, signal.SIGKILL)
        gate.set()
        events = await talk.until(is_idle)
        assert kinds(events).count("turn_complete") == 1
        assert settled_text(events) == text
        assert states_of(talk.events, message.message_id)[-1] == "CONSUMED"
        assert "CANCELLED" not in states_of(talk.events, message.message_id)
        assert_whole(talk.events)


async def test_a_turn_goes_on_though_its_agent_is_killed_twice(tmp_path: Path) -> None:
    gate = threading.Event()
    text = "One two three four five six seven eight nine ten."
    slow = say(text, gate=gate, gate_after_chunks=2)
    async with claude_world(tmp_path, {"slow": [slow] * 4}) as world:
        talk = await world.session()
        message = await talk.say("[[fake:slow]]")
        for written in ("[[fake:slow]]", "Continue from where you left off."):
            await talk.until(lambda event: bool(event.text_delta.text))
            await transcript_has(tmp_path, written)
            os.kill(world.runs[-1].agent_pid, signal.SIGKILL)
            await talk.until("error")
        gate.set()
        events = await talk.until(is_idle)
        assert kinds(talk.events).count("turn_complete") == 1
        assert settled_text(events)  # what the model makes of being told to go on
        assert states_of(talk.events, message.message_id)[-1] == "CONSUMED"
        said = [event.user_input for event in talk.events if event.HasField("user_input")]
        assert [one.client_id for one in said[1:]] == ["betcode"]  # it was told to go on
        assert_whole(talk.events)


async def test_a_conversation_that_the_agent_has_lost_is_said_with_what_to_do_and_not_tried_again(
    tmp_path: Path,
) -> None:
    async with claude_world(tmp_path, {"hello": [say("Hello.")]}) as world:
        talk = await world.session()
        await talk.say("[[fake:hello]]")
        await talk.until(is_idle)
        await kill_holder(world.runs[-1])
        await talk.summary_when(lambda summary: summary.run_state == "exited")
        shutil.rmtree(Path(world.environment["HOME"]) / ".claude" / "projects")
        message = await talk.say("[[fake:hello]] again")
        events = await talk.until(is_idle)
        (error,) = [event.error for event in events if event.HasField("error")]
        assert "start a new session" in error.message
        assert (error.code, error.is_fatal) == ("AGENT_UNAVAILABLE", True)
        assert states_of(talk.events, message.message_id)[-1] == "CANCELLED"
        assert len(world.runs) == 2


async def test_a_killed_agent_is_told_and_its_tools_are_ended(tmp_path: Path) -> None:
    scripts = {"wait": [ENDLESS, say("Never said.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session(allowed_tools=("Bash",))
        with sign_of_life(world.work) as started:
            await talk.say("[[fake:wait]]")
            await tool_at_work(started)
        agent = world.runs[0].agent_pid
        tools = [process.pid for process in descendants(agent)]
        assert tools
        os.kill(agent, signal.SIGKILL)
        await talk.until("error")
        for pid in tools:
            await gone(pid)
