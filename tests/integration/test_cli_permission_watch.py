"""`betcode permission watch`: the prompts of all sessions, answered with one key."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from betcode.cli.permission.watch import SEEN_AFTER_S
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.daemon.asking_commands import asking_shell, parked
from support.patience import PATIENCE_S
from support.processes.command import Shell

Next = Callable[[], Any]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with asking_shell(tmp_path_factory.mktemp("watch")) as commands:
        yield commands


@contextmanager
def watching(here: Shell) -> Iterator[Next]:
    """Each change as it is printed."""
    process = subprocess.Popen(
        here.argv("permission", "watch", "--json"),
        env=here.environment,
        cwd=here.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    lines = process.stdout
    try:
        yield lambda: json.loads(lines.readline())
    finally:
        process.kill()
        process.wait()
        lines.close()


def test_every_change_is_a_line_also_over_a_restart_of_the_daemon(here: Shell) -> None:
    _, first = parked(here, 'use Bash {"command": "make one"}')
    with watching(here) as change:
        before = change()
        assert (before["type"], before["request_id"], before["was_open_before"]) == ("opened", first, True)
        session, second = parked(here, 'use Bash {"command": "make two"}')
        opened = change()
        assert (opened["type"], opened["request_id"], opened["was_open_before"]) == ("opened", second, False)
        assert (opened["session_id"], opened["tool_name"]) == (session, "Bash")
        assert here.run("daemon", "restart").returncode == 0
        assert here.run("permission", "answer", first, "--deny", "--message", "no").returncode == 0
        resolved = change()
        assert (resolved["type"], resolved["request_id"]) == ("resolved", first)
        assert resolved["decision"] in (
            "DENY",
            None,
        )  # answered before the line stood again, it is only known to be gone
        assert here.run("permission", "answer", second, "--allow").returncode == 0
        last = change()
        assert (last["request_id"], last["decision"], last["resolution"]) == (second, "ALLOW_ONCE", "answered")


def test_a_key_that_comes_as_the_prompt_changes_answers_nothing(here: Shell) -> None:
    nothing = threading.Event()
    with here.terminal("permission", "watch") as person:
        for _ in range(20):
            session, first = parked(here, 'use Bash {"command": "make one"}\nuse Bash {"command": "make two"}')
            person.expect("command: make one")
            person.expect("Allow? [y")
            began = time.monotonic()
            deny(here, first)
            person.expect("command: make two")
            for _ in range(8):  # on their way to what stood there, each a key of its own
                person.type("y")
                nothing.wait(0.02)
            is_in_time = time.monotonic() - began < SEEN_AFTER_S
            person.expect("Allow? [y")
            person.type("k")
            person.expect("Left pending")
            left = here.json("permission", "list", "--json", "--session", session)["prompts"]
            for one in left:
                deny(here, one["request_id"])
            if is_in_time:  # else they may have come when it could be seen, and that round says nothing
                assert len(left) == 1
                person.type("q")
                return
    raise AssertionError("in no round the keys came in time")


def deny(here: Shell, request_id: str) -> None:
    """Answered by somebody else, at once."""
    response = v1.PermissionResponse(request_id=request_id, decision=v1.DENY)
    with grpc.insecure_channel(f"unix:{here.paths.socket}") as channel:
        AgentServiceStub(channel).AnswerPermission(v1.AnswerPermissionRequest(response=response), timeout=PATIENCE_S)


def test_one_key_answers_and_another_leaves_it_open(here: Shell) -> None:
    path = here.work / "answers.jsonl"
    path.unlink(missing_ok=True)
    with here.terminal("permission", "watch") as person:
        person.expect("Nothing pending")
        session, first = parked(here, 'use Bash {"command": "build one"}\nuse Bash {"command": "build two"}')
        person.expect("command: build one")
        person.expect("Allow? [y = yes, 1-")
        person.type("y")
        person.expect("Answer sent")
        person.expect("command: build two")
        person.expect("Allow? [y")
        person.type("x")
        person.expect("Allow? [y")
        person.type("k")
        person.expect("Left pending")
        (left,) = here.json("permission", "list", "--json", "--session", session)["prompts"]
        assert left["request_id"] != first
        assert here.run("permission", "answer", left["request_id"], "--deny").returncode == 0
        person.expect(f"{left['request_id']} {session[:13]}: denied by ")
        parked(here, 'use Bash {"command": "make three"}')
        person.expect("command: make three")
        person.expect("Allow? [y")
        person.type("k")
        person.expect("Nothing else pending. q quits")
        person.type("q")
        assert person.ended() == 0
    answers = [json.loads(line) for line in path.read_text().splitlines()]  # one of another test may come late
    own = [one["behavior"] for one in answers if one["input"]["command"] in ("build one", "build two")]
    assert own == ["allow", "deny"]


def test_without_a_terminal_it_says_what_to_use_and_ends(here: Shell) -> None:
    done = here.run("permission", "watch")
    assert done.returncode == 5
    assert done.stdout == ""
    assert "permission watch --json" in done.stderr
    assert done.stderr.count("\n") == 1
