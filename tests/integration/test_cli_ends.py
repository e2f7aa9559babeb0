"""How commands end after errors, a closed pipe and Ctrl-C: an exit code, and one sentence."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from betcode.cli.core.arguments import commands_of
from betcode.cli.core.parser import build_parser
from support.git.repositories import make_repository
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell
from support.processes.command_server import Calling, calling

COMMANDS = dict(commands_of(build_parser()))
NO_SESSION = "019a0000-0000-7000-8000-000000000000"
# What a command needs to be called at all; the session and the worktree that are named are not there.
NEEDED = {
    "run": ["--session", NO_SESSION, "hi"],
    "session rename": [NO_SESSION, "name"],
    "session delete": [NO_SESSION, "--yes"],
    "search": ["word", "--session", NO_SESSION],
    "permission list": ["--session", NO_SESSION],
    "permission answer": ["nothing", "--allow"],
    "permission watch": ["--json", "--session", NO_SESSION],
    "policy check": ["Bash(ls)", "--session", NO_SESSION],
    "policy list": ["--session", NO_SESSION],
    "policy try": ["missing.json"],
    "config mcp": ["--session", NO_SESSION],
    "worktree run": ["nowhere", "--", "true"],
    "worktree create": ["nowhere"],
    "db prune": ["--older-than", "soon"],
}
OF_WORKTREES = ("switch", "remove", "restore", "setup", "diff")


def arguments_of(words: str) -> list[str]:
    if words in NEEDED:
        return NEEDED[words]
    noun, _, verb = words.partition(" ")
    if noun == "worktree" and verb in OF_WORKTREES:
        return ["nowhere"]
    takes_session = any(one.dest == "session" and not one.option_strings for one in COMMANDS[words]._actions)
    return [NO_SESSION] if takes_session else []


NAMES_NOTHING = {
    words
    for words in COMMANDS
    if arguments_of(words) and words not in ("db prune", "policy try", "worktree create", "permission answer")
}
# What asks a daemon, and starts none: there is nothing for it to do.
NEEDS_DAEMON = NAMES_NOTHING | {
    "session new",
    "session list",
    "worktree list",
    "worktree prune",
    "features",
    "audit list",
}
UNREAD = [
    ["--help"],
    ["session", "--help"],
    ["run", "say many words to somebody who has gone"],
    ["run", "-o", "stream-json", "say hi"],
    ["session", "list"],
    ["session", "list", "--json"],
    ["worktree", "list"],
    ["permission", "list"],
    ["policy", "list", "--json"],
    ["policy", "trusted"],
    ["audit", "list"],
    ["audit", "export", "--format", "csv"],
    ["audit", "verify"],
    ["config", "show"],
    ["config", "path"],
    ["config", "mcp"],
    ["daemon", "status"],
    ["daemon", "logs"],
    ["daemon", "install", "--print"],
    ["db", "usage"],
    ["doctor"],
    ["version"],
    ["features"],
    ["completion", "bash"],
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    root = tmp_path_factory.mktemp("ends")
    with shell(root) as commands:
        commands.work = make_repository(root / "shop")
        assert commands.run("daemon", "start").returncode == 0
        yield commands


@pytest.fixture(scope="module")
def call(here: Shell) -> Iterator[Calling]:
    with calling(here.environment, here.work) as process:
        yield process


@pytest.mark.behaviour("exit-code.5", "exit-code.6")
@pytest.mark.parametrize("words", sorted(NAMES_NOTHING))
def test_a_missing_session_is_one_sentence_and_a_code(call: Calling, words: str) -> None:
    done = call([*words.split(), *arguments_of(words)])
    assert done.code == (5 if words.startswith("worktree") else 6), done.stderr
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert done.stderr.startswith("betcode: ")


@pytest.mark.parametrize(
    "arguments", [["run", "-f"], ["run", "-a"], ["config", "get"], ["policy", "try"], ["db", "check"], ["--junk"]]
)
def test_a_name_in_an_error_is_no_second_line_and_no_escape(call: Calling, arguments: list[str]) -> None:
    done = call([*arguments, "a\nbetcode: all is well\x1b[2J"])
    assert (done.code, done.stdout, done.stderr.count("\n")) == (5, "", 1)
    assert "\x1b" not in done.stderr


@pytest.mark.behaviour("exit-code.2")
@pytest.mark.parametrize("words", sorted(NEEDS_DAEMON))
def test_without_a_daemon_a_command_says_how_to_start_one(call: Calling, tmp_path: Path, words: str) -> None:
    flags = ["--no-start", "--socket", str(tmp_path / "none.sock"), "--state-dir", str(tmp_path)]
    done = call([*flags, *words.split(), *arguments_of(words)])
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr == f"betcode: No daemon answers at {tmp_path}/none.sock. Start it with: betcode daemon start\n"


@pytest.mark.parametrize("arguments", UNREAD, ids=" ".join)
def test_a_reader_that_has_gone_ends_a_command_quietly(call: Calling, arguments: list[str]) -> None:
    done = call(arguments, is_read=False)
    assert done.code == 141
    assert "Traceback" not in done.stderr
    assert "roken" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["run", "say hi"], ["--complete", "config", "get", ""], ["--help"], ["--version"], ["daemon", "logs", "--follow"]],
    ids=" ".join,
)
def test_a_pipe_that_breaks_is_no_noise_at_the_end_of_the_process_either(here: Shell, arguments: list[str]) -> None:
    process = subprocess.Popen(
        here.argv(*arguments),
        env=here.environment,
        cwd=here.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in ((0, 141) if "--follow" in arguments else (141,))
    assert not [line for line in errors.decode().splitlines() if not line.startswith("Session ")]


@pytest.mark.parametrize(
    ("streams", "arguments", "code"),
    [
        (">&-", ["run", "say hi"], 0),
        ("2>&-", ["session", "show", NO_SESSION], 6),
        ("<&- >&- 2>&-", ["session", "list", "--json"], 0),
        ("0>/dev/null", ["run", "-"], 5),  # cannot be read
        ("2>/dev/full", ["session", "show", NO_SESSION], 6),
    ],
)
def test_streams_that_are_closed_or_full_change_no_exit_code(
    here: Shell, streams: str, arguments: list[str], code: int
) -> None:
    argv = ["sh", "-c", f'exec "$@" {streams}', "sh", *here.argv(*arguments)]
    done = subprocess.run(
        argv, env=here.environment, cwd=here.work, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S
    )
    assert done.returncode == code, done.stderr
    assert done.stdout == b""
    assert b"rror" not in done.stderr


def test_ctrl_c_ends_whatever_waits_for_the_daemon(here: Shell) -> None:
    waiting = [
        ["session", "list"],
        ["search", "word"],
        ["permission", "watch"],
        ["run", "say hi"],
        ["attach", NO_SESSION, "--plain"],
    ]
    here.daemon_signal("STOP")
    try:
        with ExitStack() as stack:
            people = [stack.enter_context(here.terminal(*arguments)) for arguments in waiting]
            for person in people:
                person.expect("Waiting for the daemon")
                person.interrupt()
            for person, arguments in zip(people, waiting, strict=True):
                assert person.ended() == 130, (arguments, person.seen)
                assert "Traceback" not in person.seen
    finally:
        here.daemon_signal("CONT")


def test_ctrl_c_ends_endless_commands(here: Shell) -> None:
    session = here.json("run", "--json", "say hi")["session_id"]
    endless = {
        "hi": ["session", "follow", session],
        "INFO": ["daemon", "logs", "--follow"],
        "[y/N]": ["session", "delete", session],
        "Nothing pending": ["permission", "watch"],
    }
    with ExitStack() as stack:
        people = {sign: stack.enter_context(here.terminal(*words)) for sign, words in endless.items()}
        for sign, person in people.items():
            person.expect(sign)
            person.interrupt()
        for person in people.values():
            assert person.ended() in (0, 130), person.seen
            assert "Traceback" not in person.seen


def test_an_interrupt_without_a_terminal_is_as_quiet(here: Shell) -> None:
    process = subprocess.Popen(
        here.argv("run", "-"),
        env=here.environment,
        cwd=here.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"x" * (1 << 20))  # more than a pipe holds: it reads
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, errors) == (130, b"", b"")
