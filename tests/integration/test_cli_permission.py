"""`betcode permission list` and `answer`, over all sessions and without being attached to one."""

import json
import re
from collections.abc import Iterator

import pytest

from support.daemon.asking_commands import Heard, asking_shell, heard_from_now_on, parked, rest, two_questions
from support.processes.command import Shell

TWO = two_questions(several=True)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with asking_shell(tmp_path_factory.mktemp("permission")) as commands:
        yield commands


@pytest.fixture
def heard(here: Shell) -> Heard:
    return heard_from_now_on(here)


def test_the_list_shows_the_prompts_of_every_session(here: Shell, heard: Heard) -> None:
    first, one = parked(here, 'use Bash {"command": "git push --force"}')
    second, two = parked(here, f"use AskUserQuestion {TWO}")
    here.run("session", "rename", first, "release")
    listed = here.json("permission", "list", "--json")["prompts"]
    assert [prompt["request_id"] for prompt in listed] == [one, two]
    assert (listed[0]["session_name"], listed[0]["working_directory"]) == ("release", str(here.work))
    assert json.loads(listed[0]["input_json"]) == {"command": "git push --force"}
    assert [question["question"] for question in listed[1]["questions"]] == ["Which colour?", "Why?"]
    heading, *lines = here.run("permission", "list").stdout.splitlines()
    assert heading.split() == ["ID", "AGE", "EXPIRES", "SESSION", "TOOL", "WHAT"] or "EXPIRES" not in heading
    assert lines[0].startswith(one[:8])
    assert "release" in lines[0]
    assert lines[0].endswith("git push --force")
    assert "Which colour? / Why?" in lines[1]
    only = here.json("permission", "list", "--json", "--session", second)["prompts"]
    assert [prompt["request_id"] for prompt in only] == [two]
    for request_id in (one, two):
        assert here.run("permission", "answer", request_id[:12], "--deny").returncode == 0
    rest(here, first)
    rest(here, second)
    assert [answer["behavior"] for answer in heard()] == ["deny", "deny"]
    assert here.run("permission", "list").stdout == "No pending prompts\n"


def test_every_kind_of_answer_reaches_the_agent(here: Shell, heard: Heard) -> None:
    push = 'use Bash {"command": "git push"}'
    session, request_id = parked(here, "\n".join([push] * 3))
    edited = here.run("permission", "answer", request_id, "--edit", "git push --dry-run")
    assert (edited.returncode, edited.stdout) == (0, "Allowed with the changed input: Bash git push --dry-run\n")
    (second,) = waits(here, session, request_id)
    refused = here.run("permission", "answer", second, "--allow-session", "Bash(npm *)")
    assert refused.returncode == 5
    assert "does not cover this call" in refused.stderr
    assert here.run("permission", "answer", second, "--allow-session", "2").returncode == 0
    rest(here, session)  # the third is granted
    assert [answer["updatedInput"] for answer in heard()] == [
        {"command": "git push --dry-run"},
        {"command": "git push"},
        {"command": "git push"},
    ]
    third, ended = parked(here, push)
    denied = here.run("permission", "answer", ended, "--deny", "--stop")
    assert denied.stdout == "Denied; the turn is stopped: Bash git push\n"
    assert "continues" not in denied.stderr
    rest(here, third)
    other, stopped = parked(here, f"{push}\nsay never")
    done = here.json("permission", "answer", stopped, "--deny", "--stop", "--message", "stop it", "--json")
    assert (done["decision"], done["already_answered"], done["session_id"]) == ("DENY_WITH_INTERRUPT", False, other)
    rest(here, other)
    assert (heard()[-1]["message"], heard()[-1]["interrupt"]) == ("stop it", True)


def waits(here: Shell, session: str, *but: str) -> list[str]:
    """The prompts of a session, as soon as there is another than those that are known."""
    with here.terminal("session", "follow", session) as screen:
        for _ in range(len(but) + 1):
            screen.expect("asks for permission")
    prompts = here.json("permission", "list", "--json", "--session", session)["prompts"]
    return [prompt["request_id"] for prompt in prompts if prompt["request_id"] not in but]


def test_questions_are_answered_by_number_and_in_own_words(here: Shell, heard: Heard) -> None:
    session, request_id = parked(here, f"use AskUserQuestion {TWO}")
    half = here.run("permission", "answer", request_id, "--choose", "2,1")
    assert (half.returncode, "The agent continues when all questions" in half.stdout) == (0, True)
    assert heard() == []
    assert "1 of 2 answered: Which colour? / Why?" in here.run("permission", "list").stdout
    (listed,) = here.json("permission", "list", "--json")["prompts"]
    assert [question["answer"] for question in listed["questions"]] == ["blue, red", None]
    other = here.run("permission", "answer", request_id, "--choose", "1")
    assert (other.returncode, ": Which colour? blue, red" in other.stderr) == (5, True)
    assert "Already answered by" in other.stderr
    whole = here.json("permission", "answer", request_id, "--question", "Reason=since a=b", "--json")
    assert whole["group_complete"] is True
    rest(here, session)
    (told,) = heard()
    assert told["updatedInput"]["answers"] == {"Which colour?": "blue, red", "Why?": "since a=b"}
    same = here.run("permission", "answer", request_id[:8], "--question", "Why?=since a=b")
    assert (same.returncode, same.stdout) == (0, "Why? since a=b (already answered the same way)\n")
    for late in (["--choose", "1"], ["--question", "Reason=since a=b"], ["--question", "Why?=since"]):
        other = here.run("permission", "answer", request_id, *late)
        assert (other.returncode, "Why? since a=b" in other.stderr) == (5, True), other.stderr


def test_equal_prompts_are_answered_together(here: Shell, heard: Heard) -> None:
    one, first = parked(here, 'use Bash {"command": "make release"}')
    two, second = parked(here, 'use Bash {"command": "make release"}')
    done = here.json("permission", "answer", first, "--allow", "--equal", "--json")
    assert done["also_answered"] == [second]
    for session in (one, two):
        rest(here, session)
    assert [answer["behavior"] for answer in heard()] == ["allow", "allow"]


@pytest.mark.behaviour("exit-code.5")
def test_an_impossible_answer_is_never_a_success(here: Shell, heard: Heard) -> None:
    unknown = here.run("permission", "answer", "no-such-prompt", "--allow")
    assert (unknown.returncode, unknown.stdout) == (5, "")
    assert "No such prompt: see betcode permission list" in unknown.stderr
    session, request_id = parked(here, 'use Bash {"command": "true"}')
    assert heard() == []
    assert here.run("permission", "answer", request_id, "--allow").returncode == 0
    rest(here, session)
    again = here.json("permission", "answer", request_id, "--allow", "--json")
    assert again["already_answered"] is True
    other = here.run("permission", "answer", request_id, "--deny")
    assert other.returncode == 5
    assert re.search(r"Already answered by .*: allowed", other.stderr)
    assert here.run("permission", "answer", request_id[:8], "--allow").returncode == 0
    for words in (["--deny"], ["--edit", "false"]):
        short = here.run("permission", "answer", request_id[:8], *words)
        assert short.returncode == 5
        assert re.search(r"Already answered by .*: allowed", short.stderr)
    assert len(heard()) == 1
