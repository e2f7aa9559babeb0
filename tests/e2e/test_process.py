"""`betcode` as a person starts it: a process on a terminal of its own, which is as it was when it ends."""

import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fcntl import ioctl

import pytest

from support.command import Shell, shell
from support.patience import PATIENCE_S

_OFF = ("\x1b[?1049l", "\x1b[?1000l", "\x1b[?25h", "\x1b[?2004l")  # the other screen, the mouse, the cursor, pasting
_SEQUENCES = re.compile(r"\x1b\[[0-9;?<>=]*[A-Za-z]")


class Painted:
    """What a terminal of 80 columns shows of a process that paints it."""

    def __init__(self, commands: Shell, *arguments: str, **environment: str) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.mode = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            commands.argv(*arguments),
            env=commands.environment | {"TERM": "xterm-256color", **environment},
            cwd=commands.work,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        self.slave = slave
        self.written = ""
        self.is_gone = False

    def shows(self, words: str) -> None:
        """Wait until the words were painted somewhere."""
        deadline = time.monotonic() + PATIENCE_S
        while words not in (text := _SEQUENCES.sub("", self.written)):
            assert time.monotonic() < deadline, f"{words!r} did not appear:\n{text}"
            self._read(0.1)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def ended(self) -> int:
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "the process did not end"
            self._read(0.05)
        while self._read(0.0):
            pass
        return self.process.returncode

    @property
    def is_restored(self) -> bool:
        """Whether the terminal's modes are those of before, and what was turned on is off again."""
        last = {mode: (self.written.rfind(mode), self.written.rfind(_opposite(mode))) for mode in _OFF}
        return termios.tcgetattr(self.slave) == self.mode and all(off > on for off, on in last.values())

    def _read(self, wait_s: float) -> bool:
        if not select.select([self.master], [], [], wait_s)[0]:
            return False
        data = os.read(self.master, 65536).decode(errors="replace")
        self.written += data
        return True

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        if not self.is_gone:
            os.close(self.master)
            os.close(self.slave)

    def hang_up(self) -> None:
        """The terminal is closed, as with its window."""
        self.is_gone = True
        os.close(self.master)
        os.close(self.slave)
        for number in (signal.SIGHUP, signal.SIGCONT):  # as the system does
            self.process.send_signal(number)


def _opposite(mode: str) -> str:
    return mode[:-1] + ("h" if mode.endswith("l") else "l")


@contextmanager
def painted(commands: Shell, *arguments: str, **environment: str) -> Iterator[Painted]:
    terminal = Painted(commands, *arguments, **environment)
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("shell")) as commands:
        assert commands.run("daemon", "start").returncode == 0
        yield commands


def test_betcode_opens_the_screen_and_leaves_the_terminal_as_it_was(here: Shell) -> None:
    with painted(here) as screen:
        screen.shows("connected")
        screen.type("say hello there\r")
        screen.shows("hello there")
        screen.type("\x11")
        assert screen.ended() == 0
        assert "betcode attach" in screen.written.rpartition("\x1b[?1049l")[2].partition("Come back with: ")[2]
        assert re.search(r"\x1b\]0;betcode · [^\x07]*say hello there\x07", screen.written)  # the title, until the end
        assert screen.written.rfind("\x1b[23;0t") > screen.written.rfind("\x1b]0;betcode")
        assert screen.is_restored


def test_a_screen_that_is_told_to_end_gives_the_terminal_back(here: Shell) -> None:
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
        assert "No session begins with" in screen.written
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
            screen.shows("Which session?")
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
