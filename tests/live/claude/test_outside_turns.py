"""Turns that a person makes with `claude --resume`, beside the daemon."""

import json
import subprocess
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import bash, say
from support.daemon.process import becomes_true
from support.daemon.session import Talk, assert_whole, settled_text
from support.patience import PATIENCE_S
from support.processes.command import Terminal
from support.providers.claude import CLAUDE, needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

RETIRED_SOON = {"agents": {"idle_retire": "300ms"}}


async def retired(world: World, talk: Talk) -> None:
    await talk.summary_when(lambda summary: summary.run_state == "exited")
    await becomes_true(lambda: not world.runs[-1].alive)


async def resumed_outside(world: World, talk: Talk, prompt: str, *flags: str) -> None:
    """What a person does who does not want betcode for once."""
    argv = [str(CLAUDE), "-p", f"--resume={talk.session_id}", *flags, prompt]
    with anyio.fail_after(PATIENCE_S):
        await anyio.run_process(argv, env=dict(world.environment), cwd=world.work, stderr=subprocess.STDOUT)


def outside_notices(events: list[v1.AgentEvent]) -> list[str]:
    return [event.notice.message for event in events if event.notice.details.get("event") == "outside"]


def outside_inputs(events: list[v1.AgentEvent]) -> list[str]:
    return [event.user_input.content for event in events if event.user_input.client_id == "outside"]


async def test_turns_made_outside_are_imported_once_before_the_next_message(tmp_path: Path) -> None:
    scripts = {
        "one": [say("One.")],
        "two": [bash("echo from outside"), say("Two.")],
        "three": [say("Three.")],
        "four": [say("Four.")],
    }
    async with claude_world(tmp_path, scripts, settings=RETIRED_SOON) as world:
        talk = await world.session()
        await talk.turn("[[fake:one]]")
        await retired(world, talk)
        before = await talk.summary()
        await resumed_outside(world, talk, "[[fake:two]]", "--allowedTools=Bash")
        events = await talk.turn("[[fake:three]]")

        assert outside_notices(events) == ["1 turn was made outside betcode (`claude --resume`) and follows here"]
        said = [event.user_input.content for event in events if event.HasField("user_input")]
        assert said == ["[[fake:two]]", "[[fake:three]]"]
        tools = [event.tool_call_result.output for event in events if event.HasField("tool_call_result")]
        assert tools == ["from outside"]
        assert settled_text(events).endswith("Two.Three.")
        ends = [event.turn_complete for event in events if event.HasField("turn_complete")]
        assert [end.origin for end in ends] == ["outside", ""]
        assert ends[0].fork_point
        after = await talk.summary()
        assert after.total_cost_usd == pytest.approx(2 * before.total_cost_usd)  # of the two turns made here

        await retired(world, talk)
        await world.daemon.restart()
        await talk.turn("[[fake:four]]")
        assert len(outside_notices(talk.events)) == 1
        assert outside_inputs(talk.events) == ["[[fake:two]]"]
        assert_whole(talk.events, outside_notices=1)


async def test_a_client_that_attaches_sees_them_without_a_message(tmp_path: Path) -> None:
    scripts = {"one": [say("One.")], "two": [say("Two.")]}
    async with claude_world(tmp_path, scripts, settings=RETIRED_SOON) as world:
        talk = await world.session()
        await talk.turn("[[fake:one]]")
        await retired(world, talk)
        await resumed_outside(world, talk, "[[fake:two]]")
        other = Talk(world.client, talk.session_id)
        await other.until(lambda event: event.turn_complete.origin == "outside")
        again = Talk(world.client, talk.session_id)
        await again.until(lambda event: event.turn_complete.origin == "outside")
        assert outside_inputs(again.events) == ["[[fake:two]]"]
        assert len(outside_notices(again.events)) == 1


def has_written(world: World, text: str) -> bool:
    """Whether the agent's transcript has these words."""
    home = Path(world.environment["HOME"])
    return any(text in path.read_text() for path in home.glob(".claude/projects/*/*.jsonl"))


async def typed_into_claude(world: World, session_id: str, prompt: str, answer: str) -> None:
    """A turn in Claude Code's own screen."""
    environment = {**world.environment, "TERM": "xterm-256color"}
    terminal = Terminal([str(CLAUDE), f"--resume={session_id}"], environment, world.work)
    try:
        await anyio.to_thread.run_sync(terminal.expect, "One.")  # it shows the conversation
        terminal.type(prompt)
        await anyio.to_thread.run_sync(terminal.expect, prompt)
        terminal.type("\r")
        await anyio.to_thread.run_sync(terminal.expect, answer)
        await becomes_true(lambda: has_written(world, f'"{answer}"'))
    finally:
        terminal.close()


async def test_a_turn_typed_into_claude_beside_an_idle_agent_is_imported(tmp_path: Path) -> None:
    scripts = {"one": [say("One.")], "two": [say("Two.")], "three": [say("Three.")]}
    async with claude_world(tmp_path, scripts) as world:
        known = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": ["stand-in"]},
            "projects": {str(world.work): {"hasTrustDialogAccepted": True}},
        }
        (Path(world.environment["HOME"]) / ".claude.json").write_text(json.dumps(known))
        talk = await world.session()
        await talk.turn("[[fake:one]]")
        await typed_into_claude(world, talk.session_id, "[[fake:two]]", "Two.")
        assert world.runs[0].alive
        world.daemon.reload({"agents": {"idle_retire": "50ms"}})
        await retired(world, talk)
        events = await talk.turn("[[fake:three]]")
        assert outside_inputs(events) == ["[[fake:two]]"]
        assert settled_text(events) == "Two.Three."
        assert_whole(talk.events, outside_notices=1)
