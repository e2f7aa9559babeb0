"""`betcode audit`: decisions listed, written to files and verified, with and without a daemon."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.daemon.asking_commands import asking_shell
from support.processes.command import Shell
from support.rules.files import user_rules, write_rules

SECRET = "hunter2-hunter3"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Three decisions: two by one session, one of them about a rule with a password in it, and one by another."""
    with asking_shell(tmp_path_factory.mktemp("audit")) as commands:
        write_rules(
            user_rules(commands.daemon), allow=["Bash(ls)", f"Bash(login --password={SECRET})"], deny=["Bash(rm *)"]
        )
        first = commands.run("run", 'use Bash {"command": "ls"}', "-o", "json")
        assert first.returncode == 0, first.stderr
        session = json.loads(first.stdout)["session_id"]
        login = json.dumps({"command": f"login --password={SECRET}"})
        assert commands.run("run", "-s", session, f"use Bash {login}").returncode == 0
        commands.run("run", 'use Bash {"command": "rm -r x"}')
        yield commands


def records(here: Shell, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = here.json("audit", "list", "--json", *options)["records"]
    return found


def test_decisions_are_listed_with_their_decider(here: Shell) -> None:
    found = records(here)
    assert [(one["number"], one["outcome"], one["decided_by"]) for one in found] == [
        (1, "allow", "rule"),
        (2, "allow", "rule"),
        (3, "deny", "rule"),
    ]
    assert found[0]["rule"].startswith("allow Bash(ls) (")
    assert len(found[0]["input_sha256"]) == 64
    shown = here.run("audit", "list").stdout.splitlines()
    assert shown[0].split() == ["NUMBER", "TIME", "SESSION", "OUTCOME", "BY", "TOOL", "WHY"]
    assert "deny Bash(rm *)" in shown[3]


def test_rows_are_chosen_by_session_time_and_number(here: Shell) -> None:
    session = records(here)[0]["session_id"]
    assert [one["number"] for one in records(here, "--session", session)] == [1, 2]
    assert [one["number"] for one in records(here, "--limit", "1")] == [3]
    assert [one["number"] for one in records(here, "--since", "1h")] == [1, 2, 3]
    assert records(here, "--until", "1h") == []
    assert records(here, "--since", "2262-01-01") == []
    assert here.run("audit", "list", "--until", "1h").stdout == "No decisions found\n"
    wrong = here.run("audit", "list", "--since", "yesterday")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (5, 1)


def test_a_file_has_every_row_and_no_secret(here: Shell, tmp_path: Path) -> None:
    lines = here.run("audit", "export").stdout
    assert [json.loads(line)["number"] for line in lines.splitlines()] == [1, 2, 3]
    table = here.run("audit", "export", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["outcome"] for row in rows] == ["allow", "allow", "deny"]
    assert rows[0].keys() == json.loads(lines.splitlines()[0]).keys()
    file = tmp_path / "audit.csv"
    assert here.run("audit", "export", "-o", str(file)).returncode == 0
    assert file.read_text() == table
    for text in (lines, table, here.run("audit", "list").stdout, here.run("audit", "list", "--json").stdout):
        assert SECRET not in text
        assert "[redacted:password]" in text


def test_a_history_loses_secrets_of_inputs_unless_it_is_wanted_raw(here: Shell) -> None:
    session = records(here)[0]["session_id"]

    def used(*options: str) -> str:
        history = json.loads(here.run("session", "export", session, *options).stdout)
        return json.dumps([event for event in history["events"] if event["type"] == "tool_call_start"])

    assert SECRET in used("--raw")
    assert SECRET not in used()
    assert "[redacted:password]" in used()


def test_a_decision_is_listed_in_words_with_its_decider(tmp_path: Path) -> None:
    with asking_shell(tmp_path) as commands:
        assert commands.run("run", "--on-ask", "deny", 'use Bash {"command": "make"}').returncode == 3
        parked = commands.run("run", "--on-ask", "park", "--json", 'use Bash {"command": "make"}')
        [request] = json.loads(parked.stdout)["parked"]
        assert commands.run("permission", "answer", request, "--deny").returncode == 0
        listed = commands.run("audit", "list").stdout.splitlines()
        _, asked, by_policy, _, by_person = (line.split() for line in listed)
        of_policy = next(one for one in records(commands) if one["decided_by"] == "policy")
    assert asked[4:7] == ["ask", "no", "rule"]
    assert (by_policy[4], by_policy[-2:]) == ("deny", ["Bash", "denied"])
    assert (by_person[4], by_person[-2:]) == ("deny", ["Bash", "denied"])
    assert by_policy[5] == "policy"
    assert "@" in by_person[5]
    assert "@" in of_policy["client"]


def test_a_whole_audit_gives_its_head_which_can_be_shown_again(here: Shell) -> None:
    done = here.run("audit", "verify")
    assert done.returncode == 0
    head = done.stdout.split("Head: ")[1].strip()
    assert head.startswith("3:")
    assert here.json("audit", "verify", "--json") == {"whole": True, "rows": 3, "head": head, "broken": None}
    assert here.run("audit", "verify", "--head", head).returncode == 0
    number, digest = head.split(":")
    assert here.run("audit", "verify", "--head", f"{int(number) + 1}:{digest}").returncode == 1
    assert here.run("audit", "verify", "--head", "rubbish").returncode == 5


def test_a_broken_row_is_named_with_and_without_a_daemon(here: Shell) -> None:
    """Last: it harms the database of this module."""
    whole = here.run("audit", "verify").stdout
    assert here.run("daemon", "stop").returncode == 0
    assert here.run("audit", "verify").stdout == whole
    assert here.run("daemon", "status").returncode != 0  # none was started for it
    db = apsw.Connection(str(here.paths.database))
    db.execute("DROP TRIGGER audit_is_not_changed; UPDATE audit SET outcome = 'allow' WHERE number = 3")
    db.close()
    for _ in range(2):
        done = here.run("audit", "verify")
        assert done.returncode == 1
        assert "Broken: row 3 was changed" in done.stdout
        assert here.run("daemon", "start").returncode == 0
    assert [one["number"] for one in records(here)] == [1, 2, 3]
