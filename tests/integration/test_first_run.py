"""`make run` for a newcomer: a clean home, no account, and only betcode installed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.config.lockfile import read_holder
from betcode.config.paths import Paths, choose_paths
from support.daemon.process import Daemon, agent_program
from support.patience import PATIENCE_S
from support.processes.command import Terminal, end_inside

ARGV = [sys.executable, "-m", "betcode.cli.first_run"]


class Newcomer:
    """A home directory that was never used, and a PATH without any agent."""

    def __init__(self, home: Path) -> None:
        self.home = home
        coverage = {name: value for name, value in os.environ.items() if name.startswith("COV")}
        runtime = home / "run"
        runtime.mkdir(mode=0o700)
        self.environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(runtime), **coverage}

    @property
    def paths(self) -> Paths:
        return choose_paths(self.environment)

    def first_run(self, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ARGV,
            env=self.environment | more,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def end(self) -> None:
        """Leave no process behind."""
        daemon = Daemon(self.home / "unused")
        daemon.paths = self.paths
        daemon.end_everything()
        end_inside(self.home)


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    home = tmp_path / "home"
    home.mkdir()
    person = Newcomer(home)
    try:
        yield person
    finally:
        person.end()


def test_without_a_terminal_one_turn_is_answered_and_the_daemon_stays(newcomer: Newcomer) -> None:
    first = newcomer.first_run()
    assert first.returncode == 0, first.stderr
    assert len(first.stdout.split()) > 5
    agent = [line for line in first.stderr.splitlines() if line.startswith("Agent: ")]
    assert agent == ["Agent: the built-in demo, because claude is not on the PATH; it needs no account"]
    holder = read_holder(newcomer.paths.lock)
    assert holder is not None
    again = newcomer.first_run()
    assert again.returncode == 0, again.stderr
    assert "Starting the daemon" not in again.stderr
    assert read_holder(newcomer.paths.lock) == holder
    argv = [sys.executable, "-m", "betcode", "session", "list", "--json"]
    listed = json.loads(subprocess.run(argv, env=newcomer.environment, stdout=subprocess.PIPE, check=True).stdout)
    assert [one["provider"] for one in listed["sessions"]] == ["demo", "demo"]


def test_a_claude_that_is_there_is_used_and_named(newcomer: Newcomer) -> None:
    claude = agent_program(newcomer.home)
    done = newcomer.first_run(BETCODE_CLAUDE_BIN=str(claude))
    assert done.returncode == 0, done.stderr
    assert f"Agent: claude, found at {claude}" in done.stderr
    assert "you said: Hello!" in done.stdout


def test_a_claude_that_cannot_answer_gives_way_to_the_demo(newcomer: Newcomer) -> None:
    done = newcomer.first_run(BETCODE_CLAUDE_BIN="/bin/false")
    assert done.returncode == 0, done.stderr
    assert "claude could not answer" in done.stderr
    assert len(done.stdout.split()) > 5


def test_on_a_terminal_the_demo_is_led_into(newcomer: Newcomer) -> None:
    terminal = Terminal(ARGV, newcomer.environment, newcomer.home)
    try:
        terminal.expect("This is the built-in demo agent")
        terminal.expect("Type a message")
        terminal.type("show me a tool\n")
        terminal.expect("asks for permission")
        terminal.expect("Allow? [y")
        terminal.type("y\n")
        terminal.expect("── ")
        terminal.type("/quit\n")
        assert terminal.ended() == 0
    finally:
        terminal.close()
    assert read_holder(newcomer.paths.lock) is not None


def test_on_a_capable_terminal_the_screen_suggests_what_to_try(newcomer: Newcomer) -> None:
    terminal = Terminal(ARGV, newcomer.environment | {"TERM": "xterm"}, newcomer.home)
    try:
        terminal.expect("everything in a minute")
        terminal.type("\x11")  # Ctrl+Q
        terminal.expect("/betcode attach ")  # as it is called here
        assert terminal.ended() == 0
    finally:
        terminal.close()


def test_a_claude_that_is_installed_afterwards_is_used_by_betcode_alone(newcomer: Newcomer) -> None:
    assert newcomer.first_run().returncode == 0  # with the demo, by a daemon that knows no claude
    claude = newcomer.home / "bin" / "claude"
    claude.parent.mkdir()
    claude.symlink_to(agent_program(newcomer.home))
    path = f"{claude.parent}:{newcomer.environment['PATH']}"
    environment = newcomer.environment | {"PATH": path}
    terminal = Terminal(ARGV, environment, newcomer.home)
    try:
        terminal.expect(f"To work with claude ({claude}), run ")
        terminal.expect(" · demo · ")
        terminal.expect("\n> ")
        terminal.type("/quit\n")
        assert terminal.ended() == 0
    finally:
        terminal.close()
    terminal = Terminal([sys.executable, "-m", "betcode"], environment, newcomer.home)
    try:
        terminal.expect("A new session with claude; the demo session remains: betcode attach ")
        terminal.expect(" · claude · ")
        terminal.expect("\n> ")
        terminal.type("say this is no demo\n")
        terminal.expect("\nthis is no demo")
        terminal.expect("── ")
        terminal.type("/quit\n")
        assert terminal.ended() == 0
    finally:
        terminal.close()
    assert "you said: Hello!" in newcomer.first_run(PATH=path).stdout


def test_the_state_directory_can_be_chosen(newcomer: Newcomer, tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "apart")
    try:
        done = newcomer.first_run(BETCODE_STATE_DIR=str(daemon.paths.state_dir))
        assert done.returncode == 0, done.stderr
        assert daemon.paths.database.exists()
        assert not newcomer.paths.state_dir.exists()
    finally:
        daemon.end_everything()
        end_inside(tmp_path)
