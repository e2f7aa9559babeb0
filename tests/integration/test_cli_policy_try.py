"""`betcode policy try`: past tool calls, evaluated with other rules."""

import json
import os
from collections.abc import Iterator

import pytest

from support.daemon.asking_commands import asking_shell
from support.processes.command import Shell

USES = """\
use Bash {"command": "git status"}
use Bash {"command": "git status"}
use Bash {"command": "git push --force"}
use Read {"file_path": "a.txt"}
use Write {"file_path": "long.txt", "content": "CONTENT"}
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with asking_shell(tmp_path_factory.mktemp("try")) as commands:
        settings = commands.paths.config_dir / "settings.json"
        rules = {"permissions": {"allow": ["Bash(git *)"]}}
        settings.write_text(json.dumps(json.loads(settings.read_text()) | rules))
        done = commands.run("run", "--json", "--on-ask", "deny", stdin=USES.replace("CONTENT", "x" * 300_000))
        assert done.returncode == 3, done.stderr
        yield commands


def test_changed_decisions_are_counted_and_named(here: Shell) -> None:
    other = here.work / "other.json"
    other.write_text('{"permissions": {\n"deny": ["Bash(git push *)"],\n"allow": ["Bash(git status)", "Read"]}}')
    found = here.json("policy", "try", "other.json", "--since", "1h", "--json")
    assert (found["uses"], found["sessions"], found["unknown"], found["problems"]) == (5, 1, 0, [])
    assert {(one["before"], one["after"]): one["uses"] for one in found["counts"]} == {
        ("allow", "allow"): 2,
        ("allow", "deny"): 1,
        ("ask", "allow"): 1,
        ("ask", "ask"): 1,
    }
    changed = {one["tool_name"]: one for one in found["changed"]}
    assert set(changed) == {"Bash", "Read"}
    assert json.loads(changed["Bash"]["input_json"]) == {"command": "git push --force"}
    assert changed["Bash"]["rule_before"]["rule"] == "Bash(git *)"
    assert (changed["Bash"]["rule_after"]["path"], changed["Bash"]["rule_after"]["line"]) == (str(other), 2)
    assert (changed["Read"]["count"], changed["Read"]["rule_before"]) == (1, None)
    shown = here.run("policy", "try", "other.json").stdout.splitlines()
    assert shown[0] == "5 uses of tools in 1 session"
    assert any(line.split() == ["1", "allow", "→", "deny"] for line in shown)
    assert any("git push --force" in line and "deny Bash(git push *)" in line for line in shown)


def test_the_same_rules_change_nothing(here: Shell) -> None:
    same = here.run("policy", "try", str(here.paths.config_dir / "settings.json"))
    assert same.stdout.splitlines()[-1] == "Nothing would change"


def test_older_calls_are_skipped(here: Shell) -> None:
    assert (
        here.json("policy", "try", str(here.paths.config_dir / "settings.json"), "--since", "0s", "--json")["uses"] == 0
    )


@pytest.mark.behaviour("exit-code.5")
def test_a_file_that_is_none_is_refused_with_its_line(here: Shell) -> None:
    (here.work / "broken.json").write_text('{"permissions": {\n"deny": ["Bash("]}}')
    done = here.run("policy", "try", "broken.json")
    assert (done.returncode, done.stdout) == (5, "")
    assert "broken.json:2" in done.stderr
    assert here.run("policy", "try", "nowhere.json").returncode == 5
    os.mkfifo(here.work / "pipe.json")
    piped = here.run("policy", "try", "pipe.json")
    assert (piped.returncode, "not a regular file" in piped.stderr) == (5, True)


def test_rules_outside_permissions_are_warned_of(here: Shell) -> None:
    (here.work / "flat.json").write_text('{\n"deny": ["Bash"]}')
    done = here.run("policy", "try", "flat.json")
    assert done.returncode == 0, done.stderr
    assert 'flat.json:2: "deny" is outside "permissions"' in done.stderr
