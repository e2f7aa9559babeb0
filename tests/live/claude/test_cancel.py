"""Cancelling the real CLI: its tools' processes are dead afterwards, and the conversation goes on."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from betcode.holder.launch import holder_pid
from betcode.holder.platform import descendants
from support.apis.messages.script import bash, say
from support.daemon.runs import gone
from support.daemon.session import Talk, assert_whole, is_idle, settled_text, states_of
from support.patience import PATIENCE_S
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

AT_ONCE = {"cancel": {"interrupt": "100ms", "sigint": "100ms", "term": "100ms"}}
# One child that ignores signals, one in the background that does too, and one that has left for a session of its own.
STUBBORN = """
(trap '' INT TERM HUP; touch up1; exec sleep 1001) &
(setsid sh -c "trap '' INT TERM HUP; touch up2; exec sleep 1002" &)
sh -c "trap '' INT TERM HUP; touch up3; exec sleep 1003"
"""
SCRIPTS = {"tool": [bash(STUBBORN)], "next": [say("Next.")]}


async def at_work(world: World, talk: Talk) -> tuple[int, list[int]]:
    """Have the tool run; the pids of the agent and of all that the tool started."""
    await talk.say("[[fake:tool]]")
    with anyio.fail_after(PATIENCE_S):
        while not all((world.work / f"up{number}").exists() for number in (1, 2, 3)):  # noqa: ASYNC110 - no event tells
            await anyio.sleep(0.02)
    (run,) = world.runs
    holder = holder_pid(run.directory)
    assert holder is not None
    tools = [one.pid for one in descendants(holder) if one.pid != run.agent_pid]
    assert len(tools) >= 4  # the shell, and three below it
    return run.agent_pid, tools


async def test_what_a_tool_started_is_dead_after_a_cancel_and_the_agent_stays(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        talk = await world.session(allowed_tools=("Bash",))
        agent, tools = await at_work(world, talk)
        assert await talk.client.cancel(talk.session_id)
        events = await talk.until(is_idle)
        assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["cancelled"]
        for pid in tools:
            await gone(pid)
        assert settled_text(await talk.turn("[[fake:next]]")) == "Next."
        assert [run.agent_pid for run in world.runs] == [agent]


@pytest.mark.behaviour("cancel.escalation")
async def test_a_stopped_cli_is_killed_with_its_tools_and_its_turn_is_not_taken_up_again(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS, settings=AT_ONCE) as world:
        talk = await world.session(allowed_tools=("Bash",))
        agent, tools = await at_work(world, talk)
        os.kill(agent, signal.SIGSTOP)
        assert await talk.client.cancel(talk.session_id)
        await talk.until(is_idle)
        for pid in [agent, *tools]:
            await gone(pid)
        after = await talk.say("[[fake:next]]")
        events = await talk.until(is_idle)
        assert settled_text(events) == "Next."
        assert states_of(talk.events, after.message_id)[-1] == "CONSUMED"
        ends = [event.turn_complete.stop_reason for event in talk.events if event.HasField("turn_complete")]
        assert ends == ["cancelled", "end_turn"]
        assert world.api.calls("tool") == [0]
        assert_whole(talk.events)
