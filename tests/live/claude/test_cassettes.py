"""A session of the real CLI is saved as a recording, and the demo agent plays it."""

import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import pytest

from support.apis.messages.script import bash, say
from support.daemon.session import is_idle, kinds, settled_text
from support.patience import PATIENCE_S
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world, demo_talk

pytestmark = [needs_claude, pytest.mark.anyio]


async def test_a_saved_session_of_the_real_cli_is_played_with_its_tools_and_prompts(tmp_path: Path) -> None:
    scripts = {"make": [bash("echo hello > made.txt"), say("It is made.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:make]] for alice@corp.example.org")
        await talk.answer(await talk.asked(), allow=True)
        await talk.until(is_idle)
        file, paths = tmp_path / "it.ndjson", world.daemon.paths
        argv = [sys.executable, "-m", "betcode", "cassette", "save", talk.session_id, "-o", str(file), "--yes"]
        argv += ["--state-dir", str(paths.state_dir), "--config-dir", str(paths.config_dir), "--no-start"]
        run = lambda: subprocess.run(  # noqa: E731
            argv, env=world.daemon.environment, capture_output=True, text=True, timeout=PATIENCE_S
        )
        done = await anyio.to_thread.run_sync(run)
        assert done.returncode == 0, done.stderr
        assert "alice" not in file.read_text()
        assert str(world.work) not in file.read_text()
        (world.work / "made.txt").unlink()
        played = await demo_talk(world.daemon, world.client, cassette=file, speed=0)
        await played.say("anything")
        request = await played.asked()
        assert (request.tool_name, dict(request.input)["command"]) == ("Bash", "echo hello > made.txt")
        await played.answer(request, allow=True)
        await played.until(is_idle)
        assert settled_text(played.events).endswith("It is made.")
        assert "tool_call_result" in kinds(played.events)
        assert not (world.work / "made.txt").exists(), "nothing is run"
