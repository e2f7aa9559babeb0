"""The daemon restarted and stopped by command under real turns."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from support.apis.messages.script import bash, say
from support.daemon.process import becomes_true
from support.daemon.runs import gone
from support.daemon.session import assert_whole, is_idle, settled_text, streamed_text
from support.patience import PATIENCE_S
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

ENDLESS = bash("echo begun > started; until [ -e never ]; do sleep 0.1; done")


async def command(world: World, *arguments: str) -> str:
    """What `betcode daemon …` prints."""
    paths = world.daemon.paths
    argv = [sys.executable, "-m", "betcode", "daemon", *arguments, "--state-dir", str(paths.state_dir)]
    argv += ["--config-dir", str(paths.config_dir), "--socket", str(paths.socket)]
    with anyio.fail_after(PATIENCE_S):
        done = await anyio.run_process(argv, env=world.daemon.environment, stderr=subprocess.STDOUT)
    return done.stdout.decode()


@pytest.mark.behaviour("lifecycle.shutdown.agents-kept", "reconcile.sessions.adopted")
async def test_a_restart_in_the_middle_of_a_real_turn_is_a_reconnect(tmp_path: Path) -> None:
    gate = threading.Event()
    text = "One two three four five six seven eight nine ten."
    async with claude_world(tmp_path, {"slow": [say(text, gate=gate, gate_after_chunks=2)]}) as world:
        talk = await world.session()
        await talk.say("[[fake:slow]]")
        await talk.until("text_delta")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.until, is_idle)  # it follows all the time
            assert "0 agents ended, 1 continues" in await command(world, "restart")
            gate.set()
        assert streamed_text(talk.events) == text
        assert settled_text(talk.events) == text
        assert world.api.calls("slow") == [0]
        assert len(world.runs) == 1
        assert_whole(talk.events)
        await command(world, "stop", "--agents")


async def test_stopping_with_agents_ends_a_real_agent_and_its_tool(tmp_path: Path) -> None:
    scripts = {"wait": [ENDLESS, say("Never said.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session(allowed_tools=("Bash",))
        os.mkfifo(world.work / "started")
        await talk.say("[[fake:wait]]")
        with anyio.fail_after(PATIENCE_S):
            await anyio.Path(world.work / "started").read_text()  # the tool is at work
        agent = world.runs[0].agent_pid
        assert "1 agent ended, 0 continue" in await command(world, "stop", "--agents")
        await gone(agent)
        await world.daemon.ended()
        await becomes_true(lambda: world.daemon.processes() == [])
        await world.daemon.start()
        events = await talk.until(is_idle)
        assert events[-2].turn_complete.stop_reason == "stopped"
        assert_whole(talk.events)
