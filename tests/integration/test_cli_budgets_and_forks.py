"""`betcode session fork`, `betcode session budget` and `betcode run --attach` on a real daemon."""

import json
from collections.abc import Iterator

import pytest

from support.files import png
from support.processes.command import Shell, shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("forks")) as commands:
        yield commands


def begin(here: Shell, prompt: str, *more: str) -> str:
    return str(here.json("run", "--json", *more, prompt)["session_id"])


def test_a_fork_prints_its_id_and_continues(here: Shell) -> None:
    session = begin(here, "say one")
    first = here.json("session", "show", session, "--json")["session"]["last_sequence"]
    here.json("run", "--json", "-s", session, "say two")
    made = here.json("session", "fork", session, "--at", str(first), "--name", "Another way", "--json")
    assert (made["forked_from"], made["at_sequence"] <= first) == (session, True)
    assert here.json("run", "--json", "-s", made["session_id"], "say three")["text"] == "three"
    shown = here.run("session", "show", made["session_id"]).stdout
    assert f"from {session}" in shown
    assert ("one" in shown, "two" in shown, "three" in shown) == (True, False, True)
    plain = here.run("session", "fork", session)
    assert (plain.returncode, len(plain.stdout.strip())) == (0, 36)
    assert "Continue with: betcode attach" in plain.stderr


def test_a_budget_is_set_shown_stored_and_raised(here: Shell) -> None:
    limits = ("--max-cost", "$0.2", "--max-turns", "5", "--max-time", "2h", "--on-reached", "refuse")
    session = begin(here, "say one", *limits)
    told = here.run("session", "budget", session).stdout.splitlines()
    assert told[0] == "cost     $0.25 of $0.2 (reached)"
    assert told[1] == "tokens   120 tokens (no limit)"
    assert told[3].endswith("of 2 h")
    assert told[4] == "at limit refuse the next message"
    refused = here.run("run", "-s", session, "say two")
    assert refused.returncode == 4
    assert f"betcode session budget {session}" in refused.stderr
    raised = here.json("session", "budget", session, "--max-cost", "2", "--json")
    assert raised["budget"] == {
        "max_cost_usd": 2.0,
        "max_tokens": 0,
        "max_turns": 5,
        "max_duration_ms": 7_200_000,
        "on_reached": "refuse",
    }
    assert raised["spent"]["reached"] == []
    assert here.json("run", "--json", "-s", session, "say two")["text"] == "two"
    assert here.run("session", "budget", session, "--none").stdout.startswith("No budget")
    assert here.run("run", "-s", session, "--max-turns", "3", "say three").returncode == 5


def test_without_a_terminal_a_reached_budget_is_a_denial(here: Shell) -> None:
    session = begin(here, "say one", "--max-turns", "1")
    denied = here.run("run", "-s", session, "-o", "json", "say two")
    assert denied.returncode == 3, denied.stderr
    result = json.loads(denied.stdout)
    assert (result["stop_reason"], result["denied"], result["text"]) == ("cancelled", ["Budget"], "")
    asked = [line for line in denied.stderr.splitlines() if "1 turn" in line]
    assert asked == ["1 turn of 1 turn spent: raise the budget to 2 turns?"]  # once, and in one sentence
    assert here.run("attach", session, stdin="say two\n").returncode == 3
    with here.terminal("attach", session) as person:
        person.expect("The message was cancelled")
        person.expect("The message was cancelled")
        person.expect("> ")  # behind what the past shows
        person.type("say number three\n")
        person.expect("Waiting for a person to raise the budget")
        person.expect("Raise it? [y")
        person.type("n\n")
        person.expect("The message was cancelled")
        person.type("/quit\n")
        assert person.ended() == 0
    with here.terminal("run", "-s", session, "say two") as person:
        person.expect("raise the budget to 2 turns?")
        person.expect("Raise it? [y = yes, n = no, n REASON]")
        person.type("y\n")
        person.expect("two")
        assert person.ended() == 0


def test_files_go_with_a_prompt(here: Shell) -> None:
    (here.work / "picture.png").write_bytes(png())
    (here.work / "misnamed.png").write_text("say what is in the file")
    done = here.json("run", "--json", "-a", "picture.png", "--attach", "misnamed.png", "say seen")
    assert "say what is in the file" not in done["text"].split("seen")[0]
    events = here.json("session", "show", done["session_id"], "--json")["events"]
    files = next(event["user_input"]["stored_attachments"] for event in events if event["type"] == "user_input")
    assert [(file["filename"], file["mime_type"]) for file in files] == [
        ("picture.png", "image/png"),
        ("misnamed.png", "text/plain"),
    ]
    there = here.json("session", "list", "--json")["total"]
    for name, data in (("odd.bin", b"\xff\x00"), ("nameless", b"words\x00and words"), ("called.txt", b"words\x00")):
        (here.work / name).write_bytes(data)
        odd = here.run("run", "--attach", name, "look")
        assert (odd.returncode, odd.stdout) == (5, "")
        assert f"'{name}' cannot be attached: the agent accepts images" in odd.stderr
    assert here.json("session", "list", "--json")["total"] == there  # nothing is left of it
    refused = here.run("run", "--attach", "missing.png", "look")
    assert (refused.returncode, "missing.png is missing" in refused.stderr) == (5, True)
    with here.terminal("attach", done["session_id"]) as person:
        person.expect("> [picture.png]")
        person.type("/attach nothing.txt\n")
        person.expect("is missing")
        person.type("/attach picture.png\n")
        person.expect("Attached to the next message: picture.png")
        person.type("say with it\n")
        person.expect("with it")
        person.type("/quit\n")
        assert person.ended() == 0
    events = here.json("session", "show", done["session_id"], "--json")["events"]
    said = [event["user_input"].get("attachments", []) for event in events if event["type"] == "user_input"]
    assert said[-1] == ["picture.png"]
