"""A process on a terminal of its own, and what it painted there."""

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
from contextlib import contextmanager
from fcntl import ioctl

from support.patience import PATIENCE_S
from support.processes import preloaded
from support.processes.command import Shell

_OFF = ("\x1b[?1049l", "\x1b[?1000l", "\x1b[?25h", "\x1b[?2004l")  # the other screen, the mouse, the cursor, pasting
_SEQUENCES = re.compile(r"\x1b\[[0-9;?<>=]*[A-Za-z]")


class Painted:
    """What a terminal of 80 columns shows of a process that paints it."""

    def __init__(self, commands: Shell, *arguments: str, **environment: str) -> None:
        self.master, slave = pty.openpty()
        ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.mode = termios.tcgetattr(slave)
        argv = commands.argv(*arguments)
        variables = commands.environment | {"TERM": "xterm-256color", **environment}
        self.process: preloaded.Started
        if preloaded.can_fork(argv, variables):
            self.process = preloaded.start(argv, variables, commands.work, (slave, slave, slave), new_session=True)
        else:
            self.process = subprocess.Popen(
                argv,
                env=variables,
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
        while (code := self.process.poll()) is None:
            assert time.monotonic() < deadline, "the process did not end"
            self._read(0.05)
        while self._read(0.0):
            pass
        return code

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
