"""The commands with the real CLI: what a person with an agent of their own sees."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.apis.messages.script import Failure, Hang, Scripts, bash, say
from support.apis.messages.server import model_api
from support.processes.command import Shell, shell
from support.providers.claude import CLAUDE, claude_environment, needs_claude

pytestmark = needs_claude

SCRIPTS: Scripts = {
    "hello": [say("Hello from the model.")],
    "touch": [bash("echo made >> made.txt", "Make a file"), say("That was it.")],
    "broken": [Failure(400, "invalid_request_error", "that cannot be done")],
    "limited": [Failure(429, "rate_limit_error", "slow down")],
    "hang": [Hang()],
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    root = tmp_path_factory.mktemp("live")
    with model_api(SCRIPTS) as api, shell(root, obedient=False) as commands:
        commands.environment |= claude_environment(root / "agent-home", api.url, retries=0)
        commands.environment["BETCODE_CLAUDE_BIN"] = str(CLAUDE)
        yield commands


@pytest.mark.behaviour("exit-code.0")
def test_a_turn_is_answered_and_goes_on_in_its_session(here: Shell) -> None:
    first = here.run("run", "--json", "[[fake:hello]] hi")
    result = json.loads(first.stdout)
    assert (first.returncode, result["text"], result["provider"]) == (0, "Hello from the model.", "claude")
    again = here.run("run", "--session", result["session_id"], "[[fake:hello]] again")
    assert (again.returncode, again.stdout) == (0, "Hello from the model.\n")


def test_yes_on_a_terminal_runs_the_tool(here: Shell) -> None:
    with here.terminal("run", "[[fake:touch]] make it") as person:
        person.expect("Bash asks for permission: Make a file")
        person.expect("command: echo made >> made.txt")
        person.expect("Allow? [y")
        assert not (here.work / "made.txt").exists()
        person.type("y\n")
        person.expect("That was it.")
        assert person.ended() == 0
    assert (here.work / "made.txt").read_text() == "made\n"


@pytest.mark.behaviour("exit-code.3")
def test_without_a_terminal_the_tool_does_not_run(here: Shell, tmp_path: Path) -> None:
    done = here.run("run", "-C", str(tmp_path), "[[fake:touch]] make it")
    assert done.returncode == 3
    assert done.stdout.endswith("That was it.\n")
    assert not (tmp_path / "made.txt").exists()


@pytest.mark.behaviour("exit-code.1")
def test_an_api_error_is_an_agent_error(here: Shell) -> None:
    done = here.run("run", "[[fake:broken]] hi")
    assert done.returncode == 1
    assert "that cannot be done" in done.stderr


@pytest.mark.behaviour("exit-code.4")
def test_a_rate_limit_has_a_code_of_its_own(here: Shell) -> None:
    assert here.run("run", "[[fake:limited]] hi").returncode == 4


@pytest.mark.behaviour("cancel.rpc.interrupts", "cancel.session-usable")
def test_ctrl_c_interrupts_and_the_session_can_be_used_again(here: Shell) -> None:
    with here.terminal("run", "[[fake:hang]] hi") as person:
        session = person.expect("\r\n").split("Session ")[1].strip()
        person.interrupt()
        person.expect("Interrupting the turn")
        assert person.ended() == 130
    assert here.run("run", "--session", session, "[[fake:hello]] hi").stdout == "Hello from the model.\n"
