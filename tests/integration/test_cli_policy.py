"""`betcode policy`: the rule that would decide, with its file and line; and projects trusted by people."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.daemon.asking_commands import asking_shell
from support.processes.command import Shell

USER_RULES = {"deny": ["Bash(git push *)"], "ask": ["Bash(rm *)"], "allow": ["Bash(git *)", "Bash(ls *)"]}
PROJECT_RULES = '{"permissions": {"allow": ["Bash(make *)"], "deny": ["Read(./secrets/**)"]}}'


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with asking_shell(tmp_path_factory.mktemp("policy")) as commands:
        settings = commands.paths.config_dir / "settings.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"permissions": USER_RULES}, indent=1))
        (commands.work / ".claude").mkdir()
        (commands.work / ".claude/settings.json").write_text(PROJECT_RULES)
        yield commands


def line_of(here: Shell, rule: str) -> int:
    lines = (here.paths.config_dir / "settings.json").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if rule in line)


def checked(here: Shell, *words: str) -> Any:
    return here.json("policy", "check", "--json", *words)


def test_the_deciding_rule_is_named_with_file_and_line(here: Shell) -> None:
    settings = here.paths.config_dir / "settings.json"
    shown = here.run("policy", "check", "Bash(git status && git push origin)")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == [
        "Denied: it matches Bash(git push *)",
        f"  by deny Bash(git push *) ({settings}:{line_of(here, 'git push')})",
        "  its commands:",
        "    git status",
        "    git push origin",
    ]
    asked = checked(here, "--tool", "Bash", "--input", '{"command": "ls -l | rm x"}')
    assert (asked["outcome"], asked["segments"]) == ("ask", ["ls -l", "rm x"])
    assert asked["rules"] == [
        {"action": "ask", "rule": "Bash(rm *)", "layer": "user", "path": str(settings), "line": line_of(here, "rm *")}
    ]
    both = checked(here, "Bash(git log | ls -l)")
    assert (both["outcome"], [rule["rule"] for rule in both["rules"]]) == ("allow", ["Bash(git *)", "Bash(ls *)"])
    silent = checked(here, "WebFetch(https://example.com)")
    assert (silent["outcome"], silent["rules"]) == ("ask", [])
    secret = checked(here, "Read(secrets/key)")
    assert (secret["outcome"], secret["rules"][0]["layer"]) == ("deny", "project")
    assert checked(here, "Read(secrets/key)", "--dir", "/")["outcome"] == "ask"


def test_a_projects_own_rules_count_when_a_person_trusts_it(here: Shell) -> None:
    before = here.run("policy", "check", "Bash(make all)")
    assert before.stdout.startswith("A person is asked")
    assert f"betcode policy trust {here.work}" in before.stderr
    assert here.json("policy", "trust", ".", "--json")["changed"] is True
    assert "was already trusted" in here.run("policy", "trust", str(here.work)).stdout
    (project,) = here.json("policy", "trusted", "--json")["projects"]
    assert project["directory"] == str(here.work)
    who = re.sub(r"-[0-9a-f]{8} \(pid \d+\)$", "", project["trusted_by"])  # USER@HOST
    for command in (("policy", "trusted"), ("audit", "list")):
        shown = here.run(*command).stdout
        assert (who in shown, project["trusted_by"] in shown) == (True, False)
    assert here.run("policy", "check", "Bash(make all)").stdout.startswith("Allowed: covered by Bash(make *)")
    assert "no longer trusted" in here.run("policy", "untrust", ".").stdout
    assert checked(here, "Bash(make all)")["outcome"] == "ask"
    assert here.run("policy", "check", "Read(secrets/key)").stderr == ""  # trust would not change it
    assert here.run("policy", "untrust", ".").stdout == f"{here.work} was not trusted\n"
    assert here.run("policy", "trust", "nowhere").returncode == 5


def test_a_sessions_own_flags_and_grants_count_for_it(here: Shell) -> None:
    done = here.run("run", "--on-ask", "park", "--json", "--allowed-tools", "Glob", 'use Bash {"command": "npm test"}')
    result = json.loads(done.stdout)
    session = result["session_id"]
    assert checked(here, "Bash(npm test)", "--session", session)["outcome"] == "ask"
    assert here.run("permission", "answer", result["parked"][0], "--allow-session", "Bash(npm *)").returncode == 0
    granted = checked(here, "Bash(npm run x)", "--session", session)
    assert (granted["outcome"], granted["rules"][0]["action"]) == ("allow", "grant")
    assert checked(here, "Glob(.)", "--session", session)["rules"][0]["layer"] == "flags"
    assert checked(here, "Bash(npm run x)")["outcome"] == "ask"


@pytest.mark.behaviour("exit-code.5", "exit-code.6")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 5),
        (["Bash(ls)", "--tool", "Bash"], 5),
        (["--tool", "Bash", "--input", "[]"], 5),
        (["Bash(ls)", "--session", "x", "--dir", "/"], 5),
        (["Bash(ls)", "-C", "/nonexistent/place"], 5),
        (["Bash(ls)", "--session", "no-such-session"], 6),
    ],
)
def test_an_invalid_check_is_reported(here: Shell, words: list[str], code: int) -> None:
    done = here.run("policy", "check", *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
