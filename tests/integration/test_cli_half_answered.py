"""Prompts that someone has already answered, in part or completely."""

import json
import re
from collections.abc import Iterator

import pytest

from support.daemon.asking_commands import asking_shell, two_questions
from support.processes.command import Shell

TWO = two_questions(several=False)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with asking_shell(tmp_path_factory.mktemp("half")) as commands:
        yield commands


def parked(here: Shell, prompt: str) -> tuple[str, str]:
    result = json.loads(here.run("run", "--on-ask", "park", "--json", prompt).stdout)
    return result["session_id"], result["parked"][0]


def heard(here: Shell) -> list[dict[str, object]]:
    lines = (here.work / "answers.jsonl").read_text().splitlines()
    return [json.loads(line)["updatedInput"]["answers"] for line in lines]


@pytest.mark.parametrize("command", ["attach", "watch"])
def test_only_the_open_part_of_questions_is_asked(here: Shell, command: str) -> None:
    session, request_id = parked(here, f"use AskUserQuestion {TWO}")
    assert here.run("permission", "answer", request_id, "--choose", "2").returncode == 0
    argv = ["attach", session] if command == "attach" else ["permission", "watch"]
    with here.terminal(*argv) as screen:
        screen.expect("Your answer" if command == "attach" else "1-2 =")
        screen.type("1\n" if command == "attach" else "1")
        here.run("session", "follow", session, "--until-idle")
    assert heard(here)[-1] == {"Which colour?": "blue", "Why?": "red"}


def test_a_number_for_an_answered_prompt_names_the_other_client(here: Shell) -> None:
    session, request_id = parked(here, 'use Bash {"command": "make it"}')
    assert here.run("permission", "answer", request_id, "--allow").returncode == 0
    late = here.run("permission", "answer", request_id, "--allow-session", "1")
    assert late.returncode == 5
    assert re.search(r"Already answered by .*: allowed", late.stderr), late.stderr
    here.run("session", "follow", session, "--until-idle")
