"""A run that was parked, continued later with the real CLI."""

import json
from pathlib import Path

import pytest

from support.apis.messages.script import bash, say
from support.apis.messages.server import model_api
from support.processes.command import shell
from support.providers.claude import CLAUDE, claude_environment, needs_claude

pytestmark = needs_claude


@pytest.mark.behaviour("exit-code.3", "permission.screen.silence-asks")
def test_a_parked_run_goes_on_when_it_is_allowed_and_the_session_takes_the_next_message(tmp_path: Path) -> None:
    scripts = {"make": [bash("echo ran >> ran.txt"), say("It ran.")], "next": [say("And on.")]}
    with model_api(scripts) as api:
        own = claude_environment(tmp_path / "agent-home", api.url)
        with shell(tmp_path, obedient=False, settings={"environment": {"allow": sorted(own)}}) as here:
            here.environment |= own | {"BETCODE_CLAUDE_BIN": str(CLAUDE)}
            done = here.run("run", "--provider", "claude", "--on-ask", "park", "--json", "[[fake:make]] make it")
            assert done.returncode == 3, done.stderr
            result = json.loads(done.stdout)
            (request_id,) = result["parked"]
            assert not (here.work / "ran.txt").exists()
            assert here.run("daemon", "restart").returncode == 0
            answered = here.run("permission", "answer", request_id, "--allow")
            assert answered.returncode == 0, answered.stderr
            assert "It ran." in here.run("session", "follow", result["session_id"], "--until-idle").stdout
            assert (here.work / "ran.txt").read_text() == "ran\n"
            assert here.json("permission", "list", "--json")["prompts"] == []
            again = here.json("run", "--json", "--session", result["session_id"], "[[fake:next]] and now")
            assert again["text"] == "And on."
