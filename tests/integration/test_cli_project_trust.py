"""The question whether a project is trusted, on a terminal and in scripts."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.command import Shell, shell
from support.rules.files import write_rules


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Shell]:
    with shell(tmp_path) as commands:
        servers = {"mcpServers": {"lab": {"command": "true"}}}
        (commands.work / ".mcp.json").write_text(json.dumps(servers))
        yield commands


def trusted(here: Shell) -> list[str]:
    listed = json.loads(here.run("policy", "trusted", "--json").stdout)
    return [one["directory"] for one in listed["projects"]]


def last_agent(here: Shell) -> list[str]:
    """The arguments of the newest agent."""
    pid = (here.work / "agent.pids").read_text().split()[-1]
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")


def test_a_script_runs_without_the_projects_settings_and_says_so(here: Shell) -> None:
    done = here.run("run", "--json", "hello")
    result = json.loads(done.stdout)
    assert done.returncode == 0
    assert result["ignored_project_files"] == [str(here.work / ".mcp.json")]
    [line] = [line for line in done.stderr.splitlines() if "is not trusted" in line]
    assert f"betcode policy trust {here.work}" in line
    assert "MCP servers (lab)" in line
    assert "--setting-sources=user" in last_agent(here)
    assert trusted(here) == []


def test_a_script_trusts_with_an_option(here: Shell) -> None:
    done = here.run("run", "--json", "--trust", "hello")
    assert json.loads(done.stdout)["ignored_project_files"] == []
    assert "not trusted" not in done.stderr
    assert "--setting-sources=user" not in last_agent(here)
    assert trusted(here) == [str(here.work)]


def test_a_person_is_asked_once_and_says_no(here: Shell) -> None:
    with here.terminal("run", "hello") as person:
        person.expect(".mcp.json: MCP servers (lab)")
        person.expect("MCP server lab: true")
        person.expect("Trust this project? Otherwise the agent runs without them. [y/N]")
        person.type("\n")
        person.expect("Not trusted. To trust it later: betcode policy trust")
        assert person.ended() == 0
    assert "--setting-sources=user" in last_agent(here)
    with here.terminal("run", "hello again") as person:
        assert "Trust this project?" not in person.expect("is not trusted")
        assert person.ended() == 0
    (here.work / ".mcp.json").write_text(json.dumps({"mcpServers": {"lab": {"command": "false"}}}))
    with here.terminal("run", "hello again") as person:
        person.expect("MCP server lab: false")
        person.expect("[y/N]")
        person.type("n\n")
        assert person.ended() == 0
    (here.work / ".mcp.json").write_text(json.dumps({"mcpServers": {"another": {"command": "true"}}}))
    with here.terminal("session", "new") as person:
        person.expect("MCP servers (another)")
        person.expect("[y/N]")
        person.type("y\n")
        assert person.ended() == 0
    assert trusted(here) == [str(here.work)]


def test_attach_asks_too(here: Shell) -> None:
    session = here.run("session", "new").stdout.strip()
    with here.terminal("attach", "--plain", session) as person:
        person.expect("[y/N]")
        person.type("y\n")
        person.expect("Type a message")
        person.type("/quit\n")
        assert person.ended() == 0
    assert trusted(here) == [str(here.work)]


@pytest.mark.parametrize("command", [("run", "hello"), ("session", "new"), ("--plain",)])
def test_ctrl_c_at_the_question_answers_nothing_and_starts_nothing(here: Shell, command: tuple[str, ...]) -> None:
    for _ in range(2):  # the second time shows that the first recorded no answer
        with here.terminal(*command) as person:
            person.expect("[y/N]")
            person.interrupt()
            person.expect("Interrupted: no answer was recorded")
            assert person.ended() == 130
    assert json.loads(here.run("session", "list", "--json").stdout)["sessions"] == []
    assert not (here.work / "agent.pids").exists()
    assert trusted(here) == []


def test_ctrl_c_at_the_question_of_attach_keeps_the_session(here: Shell) -> None:
    session = here.run("session", "new").stdout.strip()
    for _ in range(2):
        with here.terminal("attach", "--plain", session) as person:
            person.expect("[y/N]")
            person.interrupt()
            assert person.ended() == 130
    assert [one["id"] for one in here.json("session", "list", "--json")["sessions"]] == [session]


def test_a_directory_without_anything_to_trust_asks_nothing(here: Shell) -> None:
    (here.work / ".mcp.json").unlink()
    write_rules(here.work / ".claude" / "settings.json", deny=["Bash(rm *)"])
    (here.work / "CLAUDE.md").write_text("text")
    with here.terminal("run", "hello") as person:
        assert person.ended() == 0
        assert "Trust" not in person.seen
    assert "--setting-sources=user" not in last_agent(here)
