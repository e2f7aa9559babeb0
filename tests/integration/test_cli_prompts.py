"""Prompts on a terminal, answered in every possible way; and a session's grants."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.daemon.asking_commands import Heard, asking_shell, heard_from_now_on
from support.processes.command import Shell

COMMIT = 'use Bash {"command": "git commit -m wip"}'


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with asking_shell(tmp_path_factory.mktemp("prompts")) as commands:
        yield commands


@pytest.fixture
def heard(here: Shell) -> Heard:
    return heard_from_now_on(here)


def test_a_pattern_is_chosen_for_the_session_and_can_be_taken_back(here: Shell, heard: Heard) -> None:
    with here.terminal("run", COMMIT) as person:
        session = person.expect("command: git commit -m wip").split("Session ")[1].split()[0]
        person.expect("s 1 = for this session, this command: Bash(git commit -m wip)")
        person.expect("s 2 = for this session, git commit with anything: Bash(git commit *)")
        person.expect("Allow? [y")
        person.type("s\n")
        person.expect("s 4 = for this session, every use of Bash: Bash")
        person.expect("Allow? [y")
        person.type("s Bash(npm *)\n")
        person.expect("does not cover this call")
        person.expect("Allow? [y")
        person.type("s 2\n")
        person.expect("done")
        assert person.ended() == 0
    assert [one["behavior"] for one in heard()] == ["allow"]
    (grant,) = here.json("session", "grants", session, "--json")["grants"]
    assert (grant["tool_name"], grant["pattern"], grant["granted"]) == ("Bash", "Bash(git commit *)", True)
    for nonsense in ("Edit", "Bash(git *)"):
        shown = here.run("session", "grants", session, "--clear", nonsense)
        assert (shown.returncode, shown.stdout) == (5, "")
        assert shown.stderr.rstrip().endswith("in this session: Bash(git commit *)")
    cleared = here.run("session", "grants", session, "--clear", "Bash(git commit *)").stdout
    assert cleared == "Cleared: 1\nNo grants in this session\n"
    assert "Allowed for this session: Bash(git commit *)" in here.run("session", "show", session).stdout


def test_another_command_is_typed_and_history_tells_it(here: Shell, heard: Heard) -> None:
    with here.terminal("run", COMMIT) as person:
        session = person.expect("Allow? [y").split("Session ")[1].split()[0]
        person.type("e {nonsense\n")
        person.expect("That is not JSON")
        person.expect("Allow? [y")
        person.type("e git commit -m better\n")
        person.expect("done")
        assert person.ended() == 0
    assert [one["updatedInput"] for one in heard()] == [{"command": "git commit -m better"}]
    assert (
        'Allowed with a changed input: {"command": "git commit -m better"}'
        in here.run("session", "show", session).stdout
    )


def test_the_persons_own_editor_is_used(here: Shell, heard: Heard, tmp_path: Path) -> None:
    program = tmp_path / "editor.py"
    program.write_text(
        "import pathlib, sys\np = pathlib.Path(sys.argv[1])\np.write_text(p.read_text().replace('wip', 'edited'))\n"
    )
    here.environment["EDITOR"] = f"{sys.executable} {program}"
    try:
        with here.terminal("run", COMMIT) as person:
            person.expect("Allow? [y")
            person.type("e\n")
            person.expect("done")
            assert person.ended() == 0
    finally:
        del here.environment["EDITOR"]
    assert [one["updatedInput"] for one in heard()] == [{"command": "git commit -m edited"}]


def test_no_and_stop_ends_the_turn(here: Shell, heard: Heard) -> None:
    with here.terminal("run", f"{COMMIT}\nsay never") as person:
        person.expect("Allow? [y")
        person.type("i not today\n")
        person.expect("The turn was cancelled")
        assert person.ended() == 3
    assert [(one["message"], one["interrupt"]) for one in heard()] == [("not today", True)]


def test_a_conversation_takes_all_answers(here: Shell, heard: Heard) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    with here.terminal("attach", session) as person:
        person.echo_off()
        person.expect("──")
        person.type(f"{COMMIT}\n")
        person.expect("s 1 = for this session")
        person.expect("Allow? [y")
        person.type("s Edit\n")
        person.expect("not for Bash")
        person.expect("Allow? [y")
        person.type("e pwd\n")
        person.expect('Allowed with a changed input: {"command": "pwd"}')
        person.expect("──")
        person.type('use ExitPlanMode {"plan": "1. think"}\n')
        person.expect("The agent asks you to approve its plan")
        person.expect("plan: 1. think")
        person.expect("Allow? [y = yes, n = no")
        person.type("n measure first\n")
        person.expect("Denied: measure first")
        person.expect("──")
        person.type('use Bash {"command": "make it"}\n')
        person.expect("Allow? [y")
        person.type("s 1\n")
        person.expect("Allowed for this session: Bash(make it)")
        person.expect("──")
        person.type('use Bash {"command": "make that"}\n')
        person.expect("Allow? [y")
        person.type("i\n")
        person.expect("Denied; the turn is stopped")
        person.expect("── cancelled")
        person.type("/quit\n")
        assert person.ended() == 0
    assert [one["behavior"] for one in heard()] == ["allow", "deny", "allow", "deny"]
