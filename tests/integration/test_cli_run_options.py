"""The options of `betcode run`: the source of the prompt, the session, and the time limit."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from support.patience import PATIENCE_S
from support.processes.command import Shell, shell
from support.processes.command_server import Calling, calling


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("options")) as commands:
        assert commands.run("daemon", "start").returncode == 0
        yield commands


@pytest.fixture(scope="module")
def call(here: Shell) -> Iterator[Calling]:
    with calling(here.environment, here.work) as process:
        yield process


def prompt_that_was_sent(here: Shell, *arguments: str, stdin: str | None = None) -> str:
    result = here.run("run", "--output", "stream-json", *arguments, stdin=stdin)
    events = [json.loads(line) for line in result.stdout.splitlines()]
    return next(str(one["user_input"]["content"]) for one in events if one["type"] == "user_input")


@pytest.mark.parametrize(
    ("arguments", "stdin", "prompt"),
    [
        (["-f", "prompt.txt"], None, "say from\nsay file"),
        (["--file", "-"], "say in\n", "say in"),
        (["say first"], "say second\n", "say first\n\nsay second"),
        (["say first", "-f", "prompt.txt"], "say third", "say first\n\nsay from\nsay file\n\nsay third"),
        (["say alone"], "", "say alone"),
    ],
)
def test_a_prompt_comes_from_arguments_file_and_stdin(
    here: Shell, arguments: list[str], stdin: str | None, prompt: str
) -> None:
    (here.work / "prompt.txt").write_text("say from\nsay file\n")
    assert prompt_that_was_sent(here, *arguments, stdin=stdin) == prompt


@pytest.mark.behaviour("exit-code.5")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-f", "missing.txt"], "missing.txt cannot be read: No such file or directory"),
        (["-f", "."], "cannot be read: Is a directory"),
        (["-f", "binary"], "not valid UTF-8: send it with --attach FILE"),
        (["-f", "empty"], "The prompt is empty"),
        (["-f", "/dev/zero"], "longer than 48 MiB"),
        (["-", "-f", "-"], "stdin can be read once"),
        (["--session", "x", "--continue", "hi"], "Give either --session ID or --continue"),
        (["--session", "x", "--worktree", "y", "hi"], "--cwd and --worktree require"),
        (["--continue", "--model", "opus", "hi"], "use an existing session"),
        (["--timeout", "soon", "hi"], "is not a duration"),
        (["--timeout", "0s", "hi"], "more than 0"),
        (["--attach", "missing.txt", "hi"], "missing.txt is missing"),
    ],
)
def test_contradictory_options_are_one_sentence_and_5(
    here: Shell, call: Calling, arguments: list[str], words: str
) -> None:
    (here.work / "binary").write_bytes(b"\xff\xfe\x00")
    (here.work / "empty").write_bytes(b" \n")
    done = call(["run", *arguments])
    assert done.code == 5
    assert words in done.stderr
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)


@pytest.mark.behaviour("exit-code.6")
def test_a_session_that_an_empty_variable_names_is_not_a_new_one(here: Shell) -> None:
    assert here.run("run", "--session", "", "hi").returncode == 6


def test_continue_uses_the_newest_open_session_of_the_directory(here: Shell) -> None:
    place = here.work / "a-place"
    place.mkdir()
    none = here.run("run", "-c", "-C", "a-place", "say hi")
    assert none.returncode == 6
    assert f"No open session of {place}" in none.stderr
    first, second = (here.json("run", "--json", "-C", "a-place", f"say {word}") for word in ("one", "two"))
    assert here.json("run", "--json", "-c", "-C", "a-place", "say on")["session_id"] == second["session_id"]
    here.run("session", "close", second["session_id"])
    assert here.json("run", "--json", "--continue", "-C", "a-place", "say on")["session_id"] == first["session_id"]


def test_a_turn_that_is_out_of_time_is_stopped(here: Shell) -> None:
    done = here.run("run", "--json", "--timeout", "500ms", "wait never")
    result = json.loads(done.stdout)
    assert done.returncode == 124
    assert (result["timed_out"], result["exit_code"]) == (True, 124)
    assert "Timed out after" in done.stderr
    listed = here.json("session", "list", "--json")["sessions"]
    assert next(one for one in listed if one["id"] == result["session_id"])["status"] != "active"


def test_time_counts_while_stdin_is_silent(here: Shell) -> None:
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            here.argv("run", "--timeout", "300ms", "-"),
            env=here.environment,
            cwd=here.work,
            stdin=reading,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, done.stdout, done.stderr) == (124, "", "betcode: Nothing was sent within 300ms\n")


def test_answers_to_other_messages_are_not_part_of_the_answer(here: Shell) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    with ExitStack() as stack:
        runs = []
        for prompt in ("wait until-all-asked\nsay one", "say two", "say three"):
            argv = here.argv("run", "--session", session, "--output", "json" if "two" in prompt else "text", prompt)
            runs.append(stack.enter_context(_process(argv, here)))
            assert runs[-1].stderr is not None
            assert runs[-1].stderr.readline() == f"Session {session}\n"  # it was sent
        (here.work / "until-all-asked").touch()
        first, second, third = (run.communicate(timeout=PATIENCE_S)[0] for run in runs)
    assert first == "waitingone\n"
    assert json.loads(second)["text"] == "two"
    assert third == "three\n"


def test_a_timeout_in_the_queue_does_not_stop_other_turns(here: Shell) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    with _process(here.argv("run", "--session", session, "wait until-told\nsay one"), here) as first:
        assert first.stdout is not None
        assert first.stdout.read(len("waiting")) == "waiting"
        late = here.run("run", "--session", session, "--timeout", "300ms", "say two")
        assert (late.returncode, late.stdout) == (124, "")
        assert "The message was cancelled: withdrawn" in late.stderr
        (here.work / "until-told").touch()
        assert first.communicate(timeout=PATIENCE_S)[0] == "one\n"
        assert first.returncode == 0


def _process(argv: list[str], here: Shell) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        argv,
        env=here.environment,
        cwd=here.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_turn_within_its_time_ends_as_ever(here: Shell) -> None:
    result = here.json("run", "--json", "--timeout", "10m", "say quick")
    assert (result["text"], result["timed_out"]) == ("quick", False)


def test_time_counts_before_anything_was_sent(here: Shell) -> None:
    here.daemon_signal("STOP")
    try:
        done = here.run("run", "--timeout", "300ms", "say hi")
    finally:
        here.daemon_signal("CONT")
    assert (done.returncode, done.stdout) == (124, "")
    assert done.stderr == "betcode: Nothing was sent within 300ms\n"
