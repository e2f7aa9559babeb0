"""`betcode search` and `betcode session rename`, `export` and `delete`."""

import json
import stat
from collections.abc import Iterator
from typing import Any

import pytest

from support.processes.command import Shell, shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("histories")) as commands:
        yield commands


def begin(here: Shell, prompt: str, *more: str) -> str:
    return str(here.json("run", "--json", *more, prompt)["session_id"])


def searched(here: Shell, *arguments: str) -> Any:
    """What is found once all is indexed."""
    for _ in range(60):
        found = here.json("search", "--json", *arguments)
        if not found["incomplete"]:
            return found
    raise AssertionError("the index is not there in time")


def test_text_of_any_session_is_found_with_session_and_time(here: Shell) -> None:
    one, other = begin(here, "say the okapi sleeps"), begin(here, "say an okapi eats")
    found = searched(here, "okapi")
    assert {hit["session_id"] for hit in found["hits"]} == {one, other}
    assert (found["total"], found["hits"][0]["speaker"]) == (4, "agent")
    assert all("okapi" in hit["excerpt"] and hit["timestamp"].startswith("20") for hit in found["hits"])
    assert {hit["session_id"] for hit in searched(here, "okapi", "sleeps")["hits"]} == {one}
    assert {hit["session_id"] for hit in searched(here, "okapi", "-s", one)["hits"]} == {one}
    table = here.run("search", "okapi", "--limit", "3")
    assert table.stdout.splitlines()[0].split() == ["SESSION", "TIME", "WHO", "TEXT"]
    assert "an okapi eats" in table.stdout
    assert "1 more: add --offset 3" in table.stderr
    assert here.run("search", "giraffe").stdout == "No matches\n"
    assert here.run("search", "--", "-*-").returncode == 5


def test_search_results_are_safe_on_a_terminal(here: Shell) -> None:
    session = begin(here, "say \x1b]0;title\x07tapir\x1b[31m")
    searched(here, "tapir")
    with here.terminal("search", "tapir", "-s", session) as person:
        person.expect("tapir")
        assert person.ended() == 0
        assert "\x1b" not in person.seen
    with here.terminal("session", "export", session) as person:
        person.expect("tapir")
        assert person.ended() == 0
        assert "\x1b" not in person.seen


def test_a_name_is_shown_and_accepted_instead_of_the_id(here: Shell) -> None:
    session, other = begin(here, "say hi"), begin(here, "say ho")
    assert here.run("session", "rename", session, "the ibex").stdout == "The session is called the ibex\n"
    assert "the ibex" in here.run("session", "list").stdout
    assert here.json("session", "show", "--json", "the ibex")["session"]["id"] == session
    here.run("run", "--session", "the ibex", "say more")  # a turn leaves the name alone
    assert here.json("session", "show", "--json", session)["session"]["name"] == "the ibex"
    assert here.run("session", "rename", other, "the ibex").returncode == 0
    ambiguous = here.run("session", "show", "the ibex")
    assert (ambiguous.returncode, "give more of the id" in ambiguous.stderr) == (5, True)
    assert here.run("session", "rename", other, "").stdout == "The session's name was removed\n"
    assert here.json("session", "show", "--json", "the ibex")["session"]["id"] == session
    for bad in ("two\nlines", " around ", "x" * 201, "\x1b[31m"):
        assert here.run("session", "rename", session, bad).returncode == 5
    assert here.run("session", "rename", "zzz", "a").returncode == 6


def test_a_closed_session_can_be_named_and_a_name_outlives_the_daemon(here: Shell) -> None:
    session = begin(here, "say hi")
    here.run("session", "close", session)
    assert here.run("session", "rename", session, "kept").returncode == 0
    assert here.run("daemon", "stop").returncode == 0
    shown = here.json("session", "show", "--json", "kept")["session"]
    assert (shown["id"], shown["status"]) == (session, "closed")


def test_an_export_is_the_whole_history_in_the_format_asked_for(here: Shell) -> None:
    session = begin(here, "say <b>bold</b>\ntool", "--allowed-tools", "Bash")
    shown = here.json("session", "show", "--json", session)
    exported = json.loads(here.run("session", "export", session).stdout)
    assert exported["events"] == shown["events"]
    assert exported["session"].items() <= shown["session"].items()  # who is connected is shown, not exported
    markdown = here.run("session", "export", session, "--format", "markdown").stdout
    assert "> say \\<b>bold\\</b>" in markdown
    assert here.run("session", "export", session, "-o", "talk.html").stderr == "Written to talk.html\n"
    page = here.work / "talk.html"
    assert "&lt;b&gt;bold&lt;/b&gt;" in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    page.write_text("older")
    here.run("session", "export", session, "--format", "markdown", "-o", "talk.html")
    assert page.read_text() == markdown
    assert [path.name for path in here.work.glob("talk*")] == ["talk.html"]


def test_an_export_that_cannot_be_written_says_so_and_leaves_nothing(here: Shell) -> None:
    session = begin(here, "say hi")
    for place in ("missing/talk.json", ".", "/dev/null"):
        done = here.run("session", "export", session, "-o", place)
        assert (done.returncode, done.stderr.startswith(f"betcode: {place} ")) == (5, True)
    unknown = "019a0000-0000-7000-8000-000000000000"
    assert here.run("session", "export", unknown, "-o", "talk.json").returncode == 6
    assert list(here.work.glob("*talk.json*")) == []


def test_deleting_asks_a_person_and_forgets_the_session(here: Shell) -> None:
    session = begin(here, "say quokka")
    assert searched(here, "quokka")["total"] == 2
    refused = here.run("session", "delete", session)
    assert (refused.returncode, "--yes" in refused.stderr) == (5, True)
    with here.terminal("session", "delete", session[:18]) as person:
        person.expect("[y/N] ")
        person.type("n\n")
        person.expect("Nothing was deleted")
        assert person.ended() == 0
    assert here.run("session", "show", session).returncode == 0
    with here.terminal("session", "delete", session) as person:
        person.expect("[y/N] ")
        person.type("y\n")
        person.expect("deleted")
        assert person.ended() == 0
    gone = here.run("session", "show", session)
    assert (gone.returncode, gone.stderr) == (6, "betcode: Session does not exist. See: betcode session list\n")
    assert searched(here, "quokka")["hits"] == []
    other = begin(here, "say numbat")
    assert here.json("session", "delete", "--json", "--yes", other) == {"session_id": other, "deleted": True}
    assert here.run("session", "delete", "--yes", other).returncode == 6
