"""The real CLI never continues a turn that was cancelled or given up, whichever agent dies afterwards."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from betcode.domain.runs.crash_policy import CrashPolicy
from support.apis.messages.script import Failure, Step, bash, say
from support.apis.messages.server import model_api
from support.daemon.runs import gone, runs_in
from support.daemon.session import Talk, assert_whole, ends_of, is_idle, settled_text
from support.engine.engine import EngineSession, a_session, engine
from support.patience import PATIENCE_S
from support.providers.claude import claude_environment, claude_that_dies_early, needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

AT_ONCE = {"cancel": {"interrupt": "100ms", "sigint": "100ms", "term": "100ms"}}
TOOL = bash("echo ran >> ran.txt; until [ -e never ]; do sleep 0.1; done")
SCRIPTS: dict[str, list[Step]] = {
    "hello": [say("Hello.")],
    "tool": [TOOL, TOOL, TOOL],
    "refused": [Failure(400, "invalid_request_error", times=6), bash("echo ran >> ran.txt")],
    "next": [say("Next.")],
}


def ran(work: Path) -> int:
    path = work / "ran.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


async def tool_ran(work: Path, times: int) -> None:
    with anyio.fail_after(PATIENCE_S):
        while ran(work) < times:  # noqa: ASYNC110 - no event tells
            await anyio.sleep(0.02)


async def in_the_transcript(root: Path, text: str, times: int = 1) -> None:
    """The CLI has written this to its transcript, wherever below `root` that is."""
    with anyio.fail_after(PATIENCE_S):
        while sum(path.read_text().count(text) for path in root.rglob("projects/*/*.jsonl")) < times:  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def cancelled_while_hung(world: World, root: Path) -> tuple[Talk, str]:
    """A session whose second turn was cancelled while its agent was stopped in the middle of a tool call."""
    talk = await world.session(allowed_tools=("Bash",))
    await talk.turn("[[fake:hello]]")
    message = await talk.say("[[fake:tool]]")
    await tool_ran(world.work, 1)
    await in_the_transcript(root, '"name":"Bash"')
    agent = world.runs[-1].agent_pid
    os.kill(agent, signal.SIGSTOP)
    assert await talk.client.cancel(talk.session_id)
    events = await talk.until(is_idle)
    assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")][-1] == "cancelled"
    await gone(agent)
    return talk, message.message_id


async def test_a_turn_cancelled_while_its_agent_hung_is_not_continued_after_the_next_agent_died(tmp_path: Path) -> None:
    program, dies = claude_that_dies_early(tmp_path / "program")
    async with claude_world(tmp_path, SCRIPTS, settings=AT_ONCE, program=program) as world:
        talk, cancelled = await cancelled_while_hung(world, tmp_path)
        dies.touch()
        after = await talk.say("[[fake:next]]")
        events = await talk.until(is_idle)
        assert not dies.exists()
        assert len(world.runs) == 3
        assert settled_text(events) == "Next."
        assert ran(world.work) == 1
        assert world.api.calls("tool") == [0]
        assert ends_of(talk.events, cancelled) == ["CONSUMED"]
        assert ends_of(talk.events, after.message_id) == ["CONSUMED"]
        assert_whole(talk.events)


async def test_a_cancelled_turn_stays_cancelled_when_the_daemon_is_killed_before_the_next_message(
    tmp_path: Path,
) -> None:
    program, dies = claude_that_dies_early(tmp_path / "program")
    async with claude_world(tmp_path, SCRIPTS, settings=AT_ONCE, program=program) as world:
        talk, cancelled = await cancelled_while_hung(world, tmp_path)
        await world.daemon.restart()
        dies.touch()
        await talk.say("[[fake:next]]")
        await talk.until("error")
        await world.daemon.restart()
        events = await talk.until(is_idle)
        assert settled_text(events) == "Next."
        assert ran(world.work) == 1
        assert ends_of(talk.events, cancelled) == ["CONSUMED"]


async def test_a_turn_that_breaks_off_behind_a_cancelled_one_is_continued_and_the_cancelled_one_is_not(
    tmp_path: Path,
) -> None:
    second: list[Step] = [bash("echo second >> second.txt; sleep 1000"), say("Done.")]
    async with claude_world(tmp_path, SCRIPTS | {"second": second}, settings=AT_ONCE) as world:
        talk, cancelled = await cancelled_while_hung(world, tmp_path)
        after = await talk.say("[[fake:second]]")
        with anyio.fail_after(PATIENCE_S):
            while not (world.work / "second.txt").exists():  # noqa: ASYNC110 - no event tells
                await anyio.sleep(0.02)
        await in_the_transcript(tmp_path, "second.txt")
        os.kill(world.runs[-1].agent_pid, signal.SIGKILL)
        await talk.until("error")
        await talk.until(is_idle)
        said = [event.user_input.content for event in talk.events if event.user_input.client_id == "betcode"]
        assert said == ["Continue from where you left off."]
        assert ran(world.work) == 1
        assert ends_of(talk.events, cancelled) == ["CONSUMED"]
        assert ends_of(talk.events, after.message_id) == ["CONSUMED"]
        assert_whole(talk.events)


async def test_a_turn_given_up_after_crashes_is_not_continued_behind_the_next_message(tmp_path: Path) -> None:
    program, dies = claude_that_dies_early(tmp_path / "program")
    policy = CrashPolicy(first_wait_s=0.05, longest_wait_s=0.05, limit=2, within_s=600)
    with model_api(SCRIPTS) as api:
        async with engine(tmp_path, policy, program=program) as first:
            environment = claude_environment(tmp_path / "agent-home", api.url)
            new = replace(a_session(first.work), environment=environment, allowed_tools=("Bash",))
            here = EngineSession(first.supervisor, first.store, await first.supervisor.create(new), first.work)
            given_up = await here.say("[[fake:tool]]")
            for times in (1, 2):
                await tool_ran(here.work, times)
                await in_the_transcript(tmp_path, '"name":"Bash"', times)
                os.kill(runs_in(tmp_path / "runs")[-1].agent_pid, signal.SIGKILL)
                await here.until(lambda event: event.HasField("error"))
            await here.until(is_idle)
            assert ends_of(here.events, given_up) == ["UNKNOWN"]
            dies.touch()
            after = await here.say("[[fake:next]]")
            events = await here.until(is_idle)
            assert settled_text(events) == "Next."
            assert ran(here.work) == 2
            assert ends_of(here.events, given_up) == ["UNKNOWN"]
            assert ends_of(here.events, after) == ["CONSUMED"]
            assert_whole(here.events)
            await here.supervisor.close(here.session)


async def test_a_turn_cancelled_between_two_agents_is_not_continued_after_the_next_agent_died(tmp_path: Path) -> None:
    program, dies = claude_that_dies_early(tmp_path / "program")
    until_cancelled = CrashPolicy(first_wait_s=10 * PATIENCE_S, longest_wait_s=10 * PATIENCE_S)
    with model_api(SCRIPTS) as api:
        async with engine(tmp_path, until_cancelled, program=program) as first:
            environment = claude_environment(tmp_path / "agent-home", api.url)
            new = replace(a_session(first.work), environment=environment, allowed_tools=("Bash",))
            here = EngineSession(first.supervisor, first.store, await first.supervisor.create(new), first.work)
            cancelled = await here.say("[[fake:tool]]")
            await tool_ran(here.work, 1)
            await in_the_transcript(tmp_path, '"name":"Bash"')
            os.kill(runs_in(tmp_path / "runs")[-1].agent_pid, signal.SIGKILL)
            await here.until(lambda event: event.HasField("error"))
            await here.supervisor.cancel_turn(here.session)
            await here.until(is_idle)
            dies.touch()
            await here.say("[[fake:next]]")
            await here.until(lambda event: event.HasField("error"))
            await here.say("[[fake:hello]]")  # a person waits: the next agent starts at once
            events = await here.until(is_idle)
            assert "Next." in settled_text(events)
            assert ran(here.work) == 1
            assert ends_of(here.events, cancelled) == ["CANCELLED"]
            await here.supervisor.close(here.session)


async def test_a_turn_that_the_model_api_refused_is_not_run_again_behind_the_next_message(tmp_path: Path) -> None:
    program, dies = claude_that_dies_early(tmp_path / "program")
    async with claude_world(tmp_path, SCRIPTS, program=program, retries=0) as world:
        talk = await world.session(allowed_tools=("Bash",))
        refused = await talk.say("[[fake:refused]]")
        await talk.until(is_idle)
        calls = len(world.api.calls("refused"))
        os.kill(world.runs[-1].agent_pid, signal.SIGKILL)
        await talk.summary_when(lambda summary: summary.run_state == "exited")
        dies.touch()
        await talk.say("[[fake:next]]")
        events = await talk.until(is_idle)
        assert settled_text(events) == "Next."
        assert len(world.api.calls("refused")) == calls
        assert ends_of(talk.events, refused.message_id) == ["CONSUMED"]


async def test_a_fork_does_not_run_the_cancelled_turn_of_the_session_it_was_made_of(tmp_path: Path) -> None:
    program, dies = claude_that_dies_early(tmp_path / "program")
    async with claude_world(tmp_path, SCRIPTS, settings=AT_ONCE, program=program) as world:
        talk, _ = await cancelled_while_hung(world, tmp_path)
        at = next(event.sequence for event in talk.events if event.HasField("turn_complete"))
        made = await talk.client.fork(talk.session_id, at_sequence=at)
        fork = Talk(talk.client, made.session_id)
        await fork.until(lambda event: event.sequence > made.at_sequence and is_idle(event))
        dies.touch()
        await fork.say("[[fake:next]]")
        events = await fork.until(is_idle)
        assert settled_text(events) == "Next."
        assert ran(world.work) == 1
