"""`betcode run --on-ask`: a run without a terminal ends at a prompt, and prints how to continue."""

import json
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from betcode.server.auth.gate import INSIDE
from support.daemon.asking_commands import Heard, asking_shell, heard_from_now_on, rest
from support.processes.command import Shell, shell

COMMIT = 'use Bash {"command": "git commit -m wip"}\nsay afterwards'
QUESTION = (
    'use AskUserQuestion {"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false, '
    '"options": [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cold"}]}]}'
)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with asking_shell(tmp_path_factory.mktemp("on-ask")) as commands:
        yield commands


@pytest.fixture
def heard(here: Shell) -> Heard:
    return heard_from_now_on(here)


@pytest.mark.behaviour("exit-code.3")
def test_a_denied_run_continues_and_exits_with_3(here: Shell, heard: Heard) -> None:
    done = here.run("run", "--on-ask", "deny", COMMIT)
    assert done.returncode == 3
    assert done.stdout.split() == ["afterwards", "done"]
    assert "Use --on-ask park" in done.stderr
    assert [one["behavior"] for one in heard()] == ["deny"]


@pytest.mark.behaviour("exit-code.3")
def test_a_parked_run_exits_at_once_and_continues_after_the_answer(here: Shell, heard: Heard) -> None:
    done = here.run("run", "--on-ask", "park", "--json", COMMIT)
    result = json.loads(done.stdout)
    assert (done.returncode, result["exit_code"], result["denied"], result["is_error"]) == (3, 3, [], False)
    (request_id,) = result["parked"]
    assert f"betcode permission answer {request_id} --allow" in done.stderr
    assert f"betcode attach {result['session_id']}" in done.stderr
    assert heard() == []
    answered = here.run("permission", "answer", request_id, "--allow")
    assert answered.returncode == 0, answered.stderr
    assert "Allowed: Bash git commit -m wip" in answered.stdout
    assert "\nafterwards\n" in rest(here, result["session_id"])
    assert [one["behavior"] for one in heard()] == ["allow"]
    again = here.json("run", "--json", "--session", result["session_id"], "say more")
    assert (again["exit_code"], again["text"].split()) == (0, ["more", "done"])


def test_an_agent_starts_no_run_of_its_own(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        own = [f"{name}={value}" for name, value in here.environment.items() if name.startswith("BETCODE_")]
        inner = shlex.join(["env", *own, *here.argv("run", "--on-ask", "deny", "--allowed-tools", "Bash", "tool")])
        (here.work / "inner.sh").write_text(f"{inner} </dev/null; echo exit $?\n")
        outer = here.json("run", "--json", "spawn sh inner.sh")
        assert outer["text"].splitlines() == [
            "exit 3",
            f"betcode: {INSIDE}",
        ]
        assert len(here.json("session", "list", "--json")["sessions"]) == 1, "there is no other session"


def test_a_parked_question_is_answered_by_number(here: Shell, heard: Heard) -> None:
    done = here.run("run", "--on-ask", "park", "--json", QUESTION)
    assert done.returncode == 3
    assert "1. red: warm" in done.stderr
    (request_id,) = json.loads(done.stdout)["parked"]
    assert f"betcode permission answer {request_id} --choose NUMBER" in done.stderr
    assert here.run("permission", "answer", request_id, "--choose", "3").returncode == 5
    answered = here.run("permission", "answer", request_id, "--choose", "2")
    assert answered.stdout == "Which colour? blue\n", answered.stderr
    rest(here, json.loads(done.stdout)["session_id"])
    assert [one["updatedInput"]["answers"] for one in heard()] == [{"Which colour?": "blue"}]


def test_questions_that_are_parked_together_are_all_shown(here: Shell, heard: Heard) -> None:
    options = '"options": [{"label": "a", "description": ""}, {"label": "b", "description": ""}]'
    asked = ", ".join(f'{{"question": "Q{n}?", "header": "H{n}", "multiSelect": false, {options}}}' for n in range(4))
    done = here.run("run", "--on-ask", "park", "--json", f'use AskUserQuestion {{"questions": [{asked}]}}')
    assert [done.stderr.count(f"H{number}: Q{number}?") for number in range(4)] == [1, 1, 1, 1]
    (request_id,) = json.loads(done.stdout)["parked"]
    assert f"permission answer {request_id} {' '.join(['--choose NUMBER'] * 4)} (or --deny)" in done.stderr
    assert here.run("permission", "answer", request_id, "--deny").returncode == 0
    rest(here, json.loads(done.stdout)["session_id"])


def test_a_parked_plan_is_approved_later(here: Shell, heard: Heard) -> None:
    done = here.run("run", "--on-ask", "park", "--json", 'use ExitPlanMode {"plan": "1. think"}')
    assert done.returncode == 3
    assert "plan: 1. think" in done.stderr
    (request_id,) = json.loads(done.stdout)["parked"]
    assert here.run("permission", "answer", request_id, "--allow").returncode == 0
    rest(here, json.loads(done.stdout)["session_id"])
    assert [one["behavior"] for one in heard()] == ["allow"]


@pytest.mark.behaviour("exit-code.3")
def test_a_run_that_waits_in_vain_ends_with_3_and_leaves_the_prompt_open(here: Shell, heard: Heard) -> None:
    done = here.run("run", "--on-ask", "wait=200ms", "--json", COMMIT)
    result = json.loads(done.stdout)
    assert done.returncode == 3
    (request_id,) = result["parked"]
    assert f"Parked: {request_id}" in done.stderr
    assert request_id in {one["request_id"] for one in here.json("permission", "list", "--json")["prompts"]}
    assert here.run("permission", "answer", request_id, "--deny", "--message", "not now").returncode == 0
    rest(here, result["session_id"])
    assert [one["message"] for one in heard()] == ["not now"]


@pytest.mark.parametrize(("how", "code", "denied"), [("--allow", 0, []), ("--deny", 3, ["Bash"])])
def test_a_run_that_waits_ends_as_the_answer_says(
    here: Shell, heard: Heard, how: str, code: int, denied: list[str]
) -> None:
    with waiting(here, "--json", COMMIT) as (process, request_id):
        assert here.run("permission", "answer", request_id, how).returncode == 0
        out, _ = process.communicate(timeout=30)
    result = json.loads(out)
    assert (process.returncode, result["denied"], result["parked"]) == (code, denied, [])
    assert result["text"].split() == ["afterwards", "done"]
    assert len(heard()) == 1


@contextmanager
def waiting(here: Shell, *arguments: str) -> "Iterator[tuple[subprocess.Popen[str], str]]":
    """A run that waits for an answer, and the id it waits under."""
    process = subprocess.Popen(
        here.argv("run", "--on-ask", "wait=10m", *arguments),
        env=here.environment,
        cwd=here.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        line = next(line for line in process.stderr if "permission answer " in line)
        yield process, line.split("permission answer ")[1].split()[0]
    finally:
        process.kill()
        process.communicate()
