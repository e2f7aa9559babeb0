"""How commands of obey end: codes, sentences, Ctrl-C and closed pipes, with a scripted daemon."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.obey.scripted_daemon import OTHER, SESSION, ScriptedObey, scripted_obey
from support.patience import PATIENCE_S
from support.processes.command import Terminal
from support.processes.command_server import Calling, calling


class Place:
    def __init__(self, root: Path, service: ScriptedObey, call: Calling, environment: dict[str, str]) -> None:
        self.root = root
        self.service = service
        self.call = call
        self.environment = environment

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "betcode.cli.obey.main", *arguments]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("obey")
    environment = {
        "HOME": str(root),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "BETCODE_STATE_DIR": str(root / "state"),
        "BETCODE_CONFIG_DIR": str(root / "config"),
        "OBEY_DAEMON_SOCKET": str(root / "o.sock"),
    }
    with (
        scripted_obey(root / "o.sock") as service,
        calling(environment, root, "betcode.cli.obey.main") as call,
    ):
        yield Place(root, service, call, environment)


@pytest.mark.behaviour("obey.cli.send")
def test_the_reply_alone_is_on_stdout(place: Place) -> None:
    done = place.call(["session", "send", SESSION, "run make\nsay two words"])
    assert (done.code, done.stdout, done.stderr) == (0, "two words\n", "")


def test_into_a_pipe_the_reply_goes_as_it_is_and_on_a_terminal_it_is_safe(place: Place) -> None:
    assert place.call(["session", "send", SESSION, "say \x1b[2Jred"]).stdout == "\x1b[2Jred\n"
    person = Terminal(place.argv("session", "send", SESSION, "run make\nsay \x1b[2Jred"), place.environment, place.root)
    try:
        person.expect("→ Bash make")  # progress, for who looks on
        person.expect("␛[2Jred")
        assert person.ended() == 0
    finally:
        person.close()


def test_a_prompt_is_printed_with_the_command_that_answers_it(place: Place) -> None:
    done = place.call(["session", "send", "--on-ask", "wait", SESSION, "ask\nsay done"])
    assert done.stdout == "done\n"
    assert f"obey session answer {SESSION} 5f0c allow" in done.stderr
    assert "Bash: make tea" in done.stderr


def test_an_error_has_its_code_and_a_hint(place: Place) -> None:
    done = place.call(["session", "send", SESSION, "fail 2013"])
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "obey: OBEY-2013: Nothing is left",
        "Hint: a new session (obey session create) has its own limit",
    ]
    done = place.call(["session", "send", SESSION, "err the agent is gone", "--json"])
    assert done.code == 1
    assert '"error": "the agent is gone"' in done.stdout


def test_a_session_is_found_by_a_part_of_its_id_or_its_name(place: Place) -> None:
    for text in (SESSION, "scout", SESSION[5:]):
        assert place.call(["session", "send", text, "say hi"]).stdout == "hi\n", text
    several = place.call(["session", "info", "sess_01JM"])
    assert several.code == 1
    assert several.stderr.startswith("obey: 2 sessions match 'sess_01JM'")
    assert OTHER in several.stderr
    unknown = place.call(["session", "info", "nobody"])
    assert unknown.code == 1
    assert unknown.stderr.startswith("obey: OBEY-2010: ")
    assert "\nHint: obey session list --all" in unknown.stderr


def test_a_command_that_fails_in_a_campaign_ends_with_1(place: Place) -> None:
    done = place.call(["exec", "--campaign", "camp", "--", "git", "a", "b"])
    assert (done.code, done.stderr.splitlines()) == (1, ["err", "obey: git ended with 2"])
    shown = place.call(["exec", "--campaign", "camp", "--json", "--", "git"])
    assert shown.code == 0
    assert '"exit_code": 0' in shown.stdout


def test_output_of_a_command_reaches_a_pipe_byte_for_byte(place: Place) -> None:
    argv = place.argv("exec", "--campaign", "camp", "--", "git")
    done = subprocess.run(argv, env=place.environment, capture_output=True, timeout=PATIENCE_S)
    assert done.stdout == b"\xff\x1b[2Jout\n"


def test_without_a_daemon_a_hint_says_how_to_start_one(place: Place) -> None:
    for command in (["ping"], ["session", "list"], ["status"]):
        done = place.call([*command, "--socket", str(place.root / "nothing")])
        assert (done.code, done.stdout) == (1, "")
        assert done.stderr.startswith(f"obey: No daemon answers at {place.root / 'nothing'}")
        assert done.stderr.endswith("\nHint: obey serve starts it\n")
    assert place.call(["stop", "--socket", str(place.root / "nothing")]).code == 0


def test_ctrl_c_leaves_the_turn_and_says_so(place: Place) -> None:
    place.service.is_held.clear()
    process = subprocess.Popen(
        place.argv("session", "send", SESSION, "hold"), env=place.environment, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert place.service.is_held.wait(PATIENCE_S)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGINT
    assert said == f"Detached; the turn continues. Watch it with: obey session watch {SESSION}\n"
    assert place.service.was_left.wait(PATIENCE_S)


def test_a_reader_that_leaves_ends_a_command_quietly(place: Place) -> None:
    done = place.call(["session", "list"], is_read=False)
    assert (done.code, done.stderr) == (-signal.SIGPIPE, "")
    with subprocess.Popen(["true"], stdin=subprocess.PIPE) as reader:
        reader.wait(PATIENCE_S)
        ended = subprocess.run(
            place.argv("--help"), env=place.environment, stdout=reader.stdin, stderr=subprocess.PIPE, timeout=PATIENCE_S
        )
    assert (ended.returncode, ended.stderr) == (-signal.SIGPIPE, b"")


def test_words_that_are_no_text_are_refused(place: Place) -> None:
    argv = [*map(str.encode, place.argv("session", "send", SESSION)), b"\xff"]
    done = subprocess.run(argv, env=place.environment, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert "is not valid UTF-8" in done.stderr


def test_heavy_modules_are_not_loaded_for_help() -> None:
    argv = [sys.executable, "-X", "importtime", "-m", "betcode.cli.obey.main", "session", "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S)
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 0
    assert imported.isdisjoint({"grpc", "google.protobuf", "anyio", "yaml", "betcode.client"})
