"""What the real CLI does at the end of a hook's own time, which is what deny rules rest on while nobody answers."""

import json
from pathlib import Path

from betcode.providers.claude.calls import registration
from support.apis.messages.script import bash, say
from support.apis.messages.server import model_api
from support.processes.stdio_agent import spawn_agent
from support.providers.claude import CLAUDE, claude_environment, needs_claude

pytestmark = needs_claude

FLAGS = (
    *("-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"),
    *("--permission-prompt-tool", "stdio", "--permission-mode", "bypassPermissions"),
)


def test_the_end_of_a_hooks_time_is_not_to_go_on(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    opening = json.loads(registration("r"))
    opening["request"]["hooks"]["PreToolUse"][0]["timeout"] = 1
    with model_api({"touch": [bash("touch made.txt"), say("Then not.")]}) as api:
        environment = claude_environment(tmp_path / "home", api.url) | {"IS_SANDBOX": "1"}
        with spawn_agent([str(CLAUDE), *FLAGS], env=environment, cwd=work) as agent:
            agent.send(opening)
            agent.say("[[fake:touch]]")
            frames = agent.until("result", 30)
    assert "hook_callback" in [frame["request"]["subtype"] for frame in frames if frame["type"] == "control_request"]
    assert any("The tool call was not executed" in json.dumps(frame) for frame in frames if frame["type"] == "user")
    assert not (work / "made.txt").exists()
