"""The input lock in plain conversations and runs."""

import json
import re
from collections.abc import Iterator

import pytest

from support.processes.command import Shell, Terminal, shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("lock"), settings={"sessions.lock_answer": "10m"}) as commands:
        yield commands


def session_of(here: Shell) -> str:
    done = here.run("run", "say hello", "--output", "json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["session_id"])


def typing(person: Terminal) -> None:
    """The person says something, and so holds the lock."""
    person.expect("> ")
    person.type("say present\n")
    person.expect("present")
    person.expect("> ")


def test_a_run_beside_someone_who_types_says_who_and_how_to_ask(here: Shell) -> None:
    session = session_of(here)
    with here.terminal("attach", session) as person:
        typing(person)
        shown = here.json("--json", "session", "show", session)["session"]
        (client,) = [one for one in shown["clients"] if one["client_id"] == shown["input_lock_client_id"]]
        assert client["client_type"] == "cli"
        name = client["client_name"]
        assert re.fullmatch(r"\S+@\S+ attach, pts/\d+", name)
        refused = here.run("run", "--session", session, "say other")
        assert refused.returncode == 3
        assert f"Another client holds the input lock (cli {name})" in refused.stderr
        assert f"betcode session lock {session[:13]}" in refused.stderr
        lines = here.run("session", "show", session).stdout
        assert f"types      cli {name}\n" in lines
        assert "connected  " in lines
        assert re.search(r"^created    \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", lines, re.MULTILINE)
        piped = here.run("attach", session, stdin="say other\n")
        assert piped.returncode == 3
        assert f"Not sent: cli {name} holds the input lock" in piped.stderr
        person.type("/who\n")
        person.expect(f"cli {name} (you), holds the input lock")
        person.type("/quit\n")
        assert person.ended() == 0
    assert here.run("run", "--session", session, "say free again").returncode == 0


@pytest.mark.parametrize("word", ["y", "n"])
def test_the_holder_of_the_lock_is_asked_and_answers(here: Shell, word: str) -> None:
    session = session_of(here)
    gives = word == "y"
    with here.terminal("attach", session) as person:
        typing(person)
        with here.terminal("session", "lock", session) as asker:
            person.expect("requests the input lock")
            person.expect("Give it the input lock? [y/n]")
            person.type(f"{word}\n")
            asker.expect("Asked the holder of the input lock")
            asker.expect("The input lock is released" if gives else "keeps the input lock")
            assert asker.ended() == (0 if gives else 3)
        if not gives:
            person.expect("You keep the input lock")
        assert here.run("run", "--session", session, "say other").returncode == (0 if gives else 3)


def test_an_answer_to_a_withdrawn_lock_request_is_not_sent_to_the_agent(here: Shell) -> None:
    session = session_of(here)
    with here.terminal("attach", session) as person:
        typing(person)
        with here.terminal("session", "lock", session) as asker:
            person.expect("Give it the input lock? [y/n]")
            person.type("y")  # and before its line ends, who asked leaves
            asker.interrupt()
            assert asker.ended() != 0
        person.expect("The request was withdrawn")
        person.expect("> ")
        person.type("say still here\n")
        person.expect("still here")
        person.expect("still here")
        person.type("/quit\n")
        assert person.ended() == 0
    said = [
        event["user_input"]["content"]
        for event in here.json("--json", "session", "show", session)["events"]
        if event["type"] == "user_input"
    ]
    assert said == ["say hello", "say present", "say still here"]


def test_in_a_conversation_the_lock_is_asked_for_and_used(here: Shell) -> None:
    session = session_of(here)
    with here.terminal("attach", session) as first, here.terminal("attach", session) as second:
        typing(first)
        second.expect("present")
        second.type("say mine\n")
        second.expect("Not sent: cli")
        second.expect("/lock")
        second.type("/lock\n")
        first.expect("[y/n]")
        first.type("y\n")
        first.expect(" has the input lock now")
        second.expect("You have the input lock")
        second.expect("> ")
        second.type("say mine\n")
        first.expect("mine")


def test_a_y_is_the_agents_while_it_asks_too(here: Shell) -> None:
    session = session_of(here)
    with here.terminal("attach", session) as person:
        person.expect("> ")
        person.type("tool\n")
        person.expect("Allow? [y")
        with here.terminal("session", "lock", session) as asker:
            person.expect("[/give or /keep]")
            person.type("n not now\n")
            person.expect("denied")
            person.type("/keep\n")
            assert asker.ended() == 3
    assert not (here.work / "ran.txt").exists()
