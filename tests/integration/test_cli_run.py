"""`betcode run` in scripts: no terminal, and a daemon that starts by itself."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.config.lockfile import read_holder
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("run")) as commands:
        yield commands


@pytest.mark.behaviour("exit-code.0", "lifecycle.daemon.background-service", "transport.daemon-start")
def test_the_first_command_starts_a_daemon_that_stays(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        done = here.run("run", "say hello there")
        assert (done.returncode, done.stdout) == (0, "hello there\n")
        assert "Starting the daemon" not in done.stderr
        holder = read_holder(here.paths.lock)
        assert holder is not None
        assert here.run("run", "say again").stdout == "again\n"
        assert read_holder(here.paths.lock) == holder


def test_only_the_answer_is_on_stdout(here: Shell) -> None:
    assert here.run("run", "say nothing else").stdout == "nothing else\n"
    done = here.run("run", "--allowed-tools", "Bash", "tool")
    assert done.returncode == 0
    assert set(done.stdout.split()) == {"ran"}
    assert "● Bash touch ran.txt" in done.stderr
    assert done.stderr.startswith("Session ")


def test_the_prompt_can_come_from_stdin(here: Shell) -> None:
    assert here.run("run", stdin="say piped").stdout == "piped\n"
    assert here.run("run", "-", stdin="say dash").stdout == "dash\n"


def test_control_characters_pass_unchanged_into_a_pipe(here: Shell) -> None:
    assert here.run("run", "say \x1b[31mred").stdout == "\x1b[31mred\n"


def test_json_tells_the_whole_turn(here: Shell) -> None:
    done = here.run("run", "--output", "json", "say hello")
    result = json.loads(done.stdout)
    assert done.returncode == 0
    assert (result["text"], result["stop_reason"], result["is_error"]) == ("hello", "end_turn", False)
    assert (result["provider"], result["model"], result["exit_code"]) == ("claude", "obedient-1", 0)
    assert result["usage"]["output_tokens"] == 20
    assert result["session_id"] in done.stderr


def test_stream_json_has_one_event_a_line_and_the_result_last(here: Shell) -> None:
    lines = [json.loads(line) for line in here.run("run", "-o", "stream-json", "say one two").stdout.splitlines()]
    numbers = [line["sequence"] for line in lines if line.get("sequence")]
    assert numbers == list(range(1, len(numbers) + 1))
    kinds = [line["type"] for line in lines]
    assert kinds[0] == "session_info"
    assert kinds[-1] == "result"
    assert {"user_input", "text_delta", "turn_complete"} <= set(kinds)


def test_a_session_is_continued_by_a_prefix_of_its_id(here: Shell) -> None:
    first = here.json("run", "--json", "say one")
    second = here.json("run", "--json", "--session", first["session_id"][:20], "say two")
    assert second["session_id"] == first["session_id"]
    assert second["text"] == "two"
    assert here.run("run", "--session", first["session_id"], "--model", "x", "say").returncode == 5


@pytest.mark.behaviour("converse.start.working-directory", "launch.environment")
def test_directory_model_and_environment_reach_the_agent(here: Shell) -> None:
    place = here.work / "elsewhere"
    place.mkdir()
    done = here.run("run", "-C", "elsewhere", "--model", "opus", "env PWD\nenv VIRTUAL_ENV\nenv SECRET\nargv")
    assert done.returncode == 0
    told = here.run("run", "-C", "elsewhere", "env VIRTUAL_ENV", VIRTUAL_ENV="/venv", SECRET="s").stdout
    assert told == "/venv\n"
    assert here.run("run", "env SECRET", SECRET="s").stdout == ""
    assert "--model=opus" in done.stdout
    assert (place / "agent.pids").exists()


@pytest.mark.behaviour("exit-code.3")
def test_without_a_terminal_a_permission_is_denied_and_reported(here: Shell) -> None:
    done = here.run("run", "tool")
    assert done.returncode == 3
    assert set(done.stdout.split()) == {"denied"}
    assert "Bash asks for permission" in done.stderr
    assert "no terminal to ask on" in done.stderr
    result = json.loads(here.run("run", "--json", "tool").stdout)
    assert (result["denied"], result["exit_code"]) == (["Bash"], 3)


def test_without_a_terminal_a_question_is_denied(here: Shell) -> None:
    done = here.run("run", "ask\nsay end")
    assert done.returncode == 3
    assert "Which colour?" in done.stderr


@pytest.mark.behaviour("exit-code.1")
def test_an_agent_that_dies_is_an_agent_error(here: Shell) -> None:
    done = here.run("run", "die")
    assert done.returncode == 1
    assert "exit code 3" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.behaviour("exit-code.6", "error.code.session-not-found")
@pytest.mark.parametrize("session", ["019a0000-0000-7000-8000-000000000000", "ffff", "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_an_unknown_session_exits_with_6(here: Shell, session: str) -> None:
    done = here.run("run", "--session", session, "hello")
    assert done.returncode == 6
    assert done.stderr.startswith("betcode: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.behaviour("exit-code.5")
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", ""],
        ["run", "  "],
        ["run", "-C", "/nonexistent/place", "hi"],
        ["run", "--model=-x", "hi"],
        ["run", "--provider", "nobody", "hi"],
    ],
    ids=" ".join,
)
def test_bad_input_exits_with_5_and_one_sentence(here: Shell, arguments: list[str]) -> None:
    done = here.run(*arguments)
    assert done.returncode == 5
    assert done.stdout == ""
    assert done.stderr.startswith("betcode: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.behaviour("exit-code.2")
def test_no_daemon_and_none_to_be_started_exits_with_2(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        done = here.run("run", "--no-start", "hello")
        assert done.returncode == 2
        assert "betcode daemon start" in done.stderr
        assert not here.paths.lock.exists()


@pytest.mark.behaviour("exit-code.2")
def test_a_daemon_that_cannot_start_exits_with_2_and_says_why(tmp_path: Path) -> None:
    with shell(tmp_path) as here:
        (tmp_path / "file").write_text("")
        done = here.run("run", "--socket", str(tmp_path / "file" / "daemon.sock"), "hello")
        assert done.returncode == 2
        assert str(tmp_path / "file") in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.behaviour("exit-code.5")
def test_wrong_settings_exit_with_5_and_say_which(tmp_path: Path) -> None:
    with shell(tmp_path, settings={"environment": {"allow": "PATH"}}) as here:
        for arguments in (("run", "hello"), ("daemon", "start"), ("daemon", "run")):
            done = here.run(*arguments)
            assert (done.returncode, "environment.allow" in done.stderr) == (5, True), arguments


def test_a_reader_that_leaves_ends_the_command_quietly(here: Shell) -> None:
    process = subprocess.Popen(
        here.argv("run", "count 20000 50"),
        env=here.environment,
        cwd=here.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1000)
    process.stdout.close()
    errors = process.stderr.read().decode()
    assert process.wait(PATIENCE_S) == 141
    process.stderr.close()
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors
