"""`betcode` as a process on its own terminal, which it restores at the end."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from support.patience import PATIENCE_S
from support.processes.command import Shell, shell
from support.processes.terminal import painted


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("shell")) as commands:
        assert commands.run("daemon", "start").returncode == 0
        yield commands


def test_betcode_opens_the_screen_and_leaves_the_terminal_as_it_was(here: Shell) -> None:
    with painted(here) as screen:
        screen.shows("connected")
        screen.type("say hello there\r")
        screen.shows("> say hello there")
        screen.shows("say hello there\x07")  # the title
        screen.type("\x11")
        assert screen.ended() == 0
        assert "betcode attach" in screen.written.rpartition("\x1b[?1049l")[2].partition("Reattach with: ")[2]
        assert re.search(r"\x1b\]0;betcode · [^\x07]*say hello there\x07", screen.written)  # the title, until the end
        assert screen.written.rfind("\x1b[23;0t") > screen.written.rfind("\x1b]0;betcode")
        assert screen.is_restored


def test_a_terminated_screen_restores_the_terminal(here: Shell) -> None:
    with painted(here) as screen:
        screen.shows("connected")
        screen.process.send_signal(signal.SIGTERM)
        assert screen.ended() == 128 + signal.SIGTERM
        assert screen.is_restored


def test_a_screen_whose_terminal_is_closed_ends(here: Shell) -> None:
    with painted(here) as screen:
        screen.shows("connected")
        screen.hang_up()
        assert screen.process.wait(PATIENCE_S) > 0


def test_a_session_that_is_not_there_is_one_sentence_and_an_exit_code(here: Shell) -> None:
    with painted(here, "attach", "0" * 8) as screen:
        assert screen.ended() == 6
        assert screen.is_restored or "\x1b[?1049h" not in screen.written
        assert "No session has the id prefix or name" in screen.written
        assert "Traceback" not in screen.written


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(("--plain",), {}), ((), {"TERM": "dumb"}), ((), {"PYTHONIOENCODING": "latin-1"})],
    ids=["asked for", "by the terminal", "by its letters"],
)
def test_lines_stay_for_those_who_want_them(
    here: Shell, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    with painted(here, *arguments, **environment) as lines:
        lines.shows("Type a message")
        lines.type("/quit\n")
        assert lines.ended() == 0
        assert "\x1b[?1049h" not in lines.written


def test_several_sessions_at_work_here_are_a_matter_for_the_person(here: Shell) -> None:
    with ExitStack() as ends:
        for name in ("first of two", "second of two"):
            made = here.json("session", "new", "--name", name, "--json")["session_id"]
            ends.enter_context(at_work(here, made))
        with painted(here) as screen:
            screen.shows("Choose a session")
            screen.shows("second of two")
            screen.type("first of")
            screen.type("\r")
            screen.shows("connected")
            screen.type("\x11")
            assert screen.ended() == 0
            assert screen.is_restored


@contextmanager
def at_work(here: Shell, session_id: str) -> Iterator[None]:
    """A turn is open in the session."""
    turn = subprocess.Popen(
        here.argv("run", "-s", session_id, "wait never"),
        env=here.environment,
        cwd=here.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not any(
            one["id"] == session_id and one["status"] == "active"
            for one in here.json("session", "list", "--json")["sessions"]
        ):
            assert time.monotonic() < deadline
        yield
    finally:
        here.run("session", "cancel", session_id)
        turn.wait(PATIENCE_S)
