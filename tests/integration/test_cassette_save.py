"""`betcode cassette save`: what is saved can be played, and has nothing in it that should not leave the machine."""

import json
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.command import Shell, shell

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Shell]:
    with shell(tmp_path) as commands:
        yield commands


def talked(here: Shell, text: str = "") -> str:
    """A session with two turns, each by an agent of its own."""
    home = here.environment["HOME"]
    said = text or f"say The token {TOKEN} of alice@corp.example.org is in {home}/notes and {here.work}/src"
    session = str(here.json("run", "--json", said)["session_id"])
    here.run("daemon", "stop", "--agents")
    assert here.run("run", "--session", session, "say and so on").returncode == 0
    return session


def test_a_saved_recording_is_scrubbed_and_the_demo_agent_plays_it(here: Shell) -> None:
    session = talked(here)
    file = here.work / "bug.ndjson"
    done = here.run("cassette", "save", session, "-o", str(file), "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{file}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    for private in (TOKEN, TOKEN[8:20], "alice", here.environment["HOME"], str(here.work)):
        assert private not in text, private
        assert private not in done.stderr or private == str(here.work), "nor does the preview show it"
    rows = [json.loads(line) for line in text.splitlines()]
    assert {row["dir"] for row in rows} == {"in", "out"}
    assert [row["t"] for row in rows] == sorted(row["t"] for row in rows)
    played = {"BETCODE_DEMO_CASSETTE": str(file), "BETCODE_DEMO_SPEED": "0"}
    first = here.json_with(played, "run", "--provider", "demo", "--json", "go")
    assert first["text"] == (
        "The token [redacted:github-token] of user@example.com is in /home/user/notes and /home/user/project/src"
    )
    second = here.run("run", "--session", str(first["session_id"]), "on")
    assert second.stdout == "and so on\n"


def test_it_is_shown_first_and_a_person_decides(here: Shell) -> None:
    session = talked(here)
    with here.terminal("cassette", "save", session[:13]) as person:
        person.expect("The token [redacted:github-token]")
        person.expect("replaced: ")
        person.expect("Check the rest before you share it")
        person.expect(".cassette.ndjson? [y/N]")
        person.type("\n")
        person.expect("Nothing was saved")
        assert person.ended() == 0
    assert list(here.work.glob("*.ndjson")) == []
    with here.terminal("cassette", "save", session, "--all") as person:
        person.expect("[y/N]")
        person.type("y\n")
        assert person.ended() == 0
    (saved,) = here.work.glob("*.cassette.ndjson")
    again = here.run("cassette", "save", session, "-o", str(saved), "--yes")
    assert (again.returncode, "--force" in again.stderr) == (5, True)


def test_a_script_has_to_say_yes(here: Shell) -> None:
    session = talked(here)
    for arguments in ((), ("--json",)):
        done = here.run("cassette", "save", session, *arguments)
        assert (done.returncode, "--yes" in done.stderr) == (5, True)
    told = here.json("cassette", "save", session, "-o", "it.ndjson", "--yes", "--json")
    assert (told["session_id"], told["runs"], told["missing_runs"]) == (session, 2, 0)
    assert told["bytes"] == (here.work / "it.ndjson").stat().st_size
    assert told["replaced"]["secrets"] >= 2
    assert told["replaced"]["paths"] >= 2


def test_what_is_gone_or_was_never_there_is_refused(here: Shell) -> None:
    empty = here.json("session", "new", "--json")["session"]["id"]
    done = here.run("cassette", "save", empty, "--yes")
    assert (done.returncode, "No agent has run" in done.stderr) == (5, True)
    session = talked(here, "say hello")
    here.run("daemon", "stop", "--agents")
    oldest, newest = sorted(here.paths.runs.iterdir())
    shutil.rmtree(oldest)
    told = here.json("cassette", "save", session, "-o", "part.ndjson", "--yes", "--json")
    assert (told["runs"], told["missing_runs"]) == (1, 1)
    shutil.rmtree(newest)
    done = here.run("cassette", "save", session, "--yes")
    assert (done.returncode, "journals.keep" in done.stderr) == (5, True)


def test_a_crash_in_the_middle_of_a_turn_is_part_of_the_recording(here: Shell) -> None:
    session = here.json("run", "--json", "stumble stone\nsay again")["session_id"]
    here.json("cassette", "save", session, "-o", "crash.ndjson", "--yes", "--json")
    rows = [json.loads(line) for line in (here.work / "crash.ndjson").read_text().splitlines()]
    (end,) = [json.loads(row["line"]) for row in rows if row["dir"] == "exit"]
    assert end["code"] == 3
    assert "stumbled over a stone" in [row["line"] for row in rows if row["dir"] == "err"]
