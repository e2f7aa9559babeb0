"""The command `betcode` as a person or a script runs it: a real process, with or without a terminal."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from betcode.config.lockfile import read_holder
from support.daemon.process import Daemon, agent_program
from support.patience import PATIENCE_S
from support.processes import preloaded

# Make stdin the controlling terminal, and then run the command.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Shell:
    """One state directory, and commands that work on it. The daemon is started by them."""

    def __init__(self, root: Path, *, obedient: bool = True, settings: Mapping[str, object] | None = None) -> None:
        self.daemon = Daemon(root, settings=settings)
        self.work = self.daemon.work
        self.paths = self.daemon.paths
        self.environment = {
            **self.daemon.environment,
            "BETCODE_STATE_DIR": str(self.paths.state_dir),
            "BETCODE_CONFIG_DIR": str(self.paths.config_dir),
            "BETCODE_DAEMON_AUTOSTART": "always",
            "NO_COLOR": "1",
        }
        if obedient:
            self.environment["BETCODE_CLAUDE_BIN"] = str(agent_program(root))

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "betcode", *arguments]

    def run(self, *arguments: str, stdin: str | None = None, **more: str) -> "subprocess.CompletedProcess[str]":
        """Run to the end without a terminal."""
        return preloaded.run(self.argv(*arguments), self.environment | more, self.work, stdin)

    def json(self, *arguments: str) -> Any:
        """The JSON that a command prints."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def json_with(self, environment: Mapping[str, str], *arguments: str) -> Any:
        """The same with more in the environment."""
        done = self.run(*arguments, **environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def daemon_signal(self, name: str) -> None:
        """Send SIGSTOP, SIGCONT or another signal to the daemon."""
        holder = read_holder(self.paths.lock)
        assert holder is not None
        os.kill(holder.pid, signal.Signals[f"SIG{name}"])

    @contextmanager
    def terminal(self, *arguments: str) -> "Iterator[Terminal]":
        """Run on a terminal of its own."""
        terminal = Terminal(self.argv(*arguments), self.environment, self.work)
        try:
            yield terminal
        finally:
            terminal.close()


class Terminal:
    """A person's screen and keyboard; the process has it as its controlling terminal."""

    def __init__(self, argv: list[str], environment: Mapping[str, str], cwd: Path) -> None:
        self._master, slave = pty.openpty()
        try:
            self._process = self._start(argv, environment, cwd, slave)
        finally:
            os.close(slave)
        self.pid = self._process.pid
        self.seen = ""
        self._expected = 0  # what was seen before this was expected already

    @staticmethod
    def _start(argv: list[str], environment: Mapping[str, str], cwd: Path, slave: int) -> preloaded.Started:
        if preloaded.can_fork(argv, environment):
            streams = (slave, slave, slave)
            return preloaded.start(argv, environment, cwd, streams, new_session=True, terminal=True)
        take_terminal = [sys.executable, "-c", _TAKE_TERMINAL, *argv]
        return subprocess.Popen(
            take_terminal, env=environment, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )

    def expect(self, text: str) -> str:
        """Wait until the text is on the screen, after what was expected before; everything up to it."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.seen.find(text, self._expected)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} did not appear; the screen shows:\n{self.seen}")
        before = self.seen[self._expected : found]
        self._expected = found + len(text)
        return before

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.type("\x03")

    def ended(self) -> int:
        """Wait for the end of the process; its exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self._read(deadline):
            pass
        return self._process.wait(PATIENCE_S)

    def close(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        os.close(self._master)

    def echo_off(self) -> None:
        """What is typed does not show, so that only the command's own words are on the screen."""
        mode = termios.tcgetattr(self._master)
        mode[3] &= ~termios.ECHO
        termios.tcsetattr(self._master, termios.TCSANOW, mode)

    def _read(self, deadline: float) -> bool:
        """Whether there was more; False at the end of the process."""
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([self._master], [], [], left)[0]:
            raise AssertionError(f"nothing more within {PATIENCE_S} s; the screen shows:\n{self.seen}")
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says EIO when the other side is gone
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)


def end_inside(root: Path) -> None:
    """End every process that works somewhere below `root`: daemons, holders, agents and their tools."""
    while left := [int(one.name) for one in Path("/proc").glob("[0-9]*") if _works_below(int(one.name), root)]:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _works_below(pid: int, root: Path) -> bool:
    try:
        is_zombie = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return not is_zombie and Path(f"/proc/{pid}/cwd").readlink().is_relative_to(root)
    except OSError:
        return False


@contextmanager
def shell(root: Path, *, obedient: bool = True, settings: Mapping[str, object] | None = None) -> Iterator[Shell]:
    """Commands in a place of their own; leaving the block ends every process they left running."""
    commands = Shell(root, obedient=obedient, settings=settings)
    try:
        yield commands
    finally:
        commands.daemon.end_everything()
        end_inside(root)
