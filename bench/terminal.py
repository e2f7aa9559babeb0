"""A program on a terminal of its own: keys go in, and what comes out is searched with the time it came."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

BOUND_S = 60.0
PAGE_DOWN, TO_THE_BEGINNING = b"\x1b[6~", b"\x1b[1;5H"
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-9;?<=>$]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_].*?\x1b\\|[()].|[=>78cDEHM])"
)
_UNFINISHED = re.compile(r"\x1b[^\x1b]{0,200}$")


class Terminal:
    """80 columns, 24 lines, as a person's; leaving the block ends the program."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], cwd: Path, rows: int = 24) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
        self.began = time.perf_counter()
        # A fork in Python would disturb the threads of gRPC; setsid makes it the program's own terminal.
        self._process = subprocess.Popen(
            ["setsid", "--ctty", *argv], stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=cwd
        )
        os.close(slave)
        self._raw = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    @property
    def pid(self) -> int:
        return self._process.pid

    def press(self, keys: bytes) -> float:
        """Type them; the time of it."""
        now = time.perf_counter()
        os.write(self._master, keys)
        return now

    def until(self, shown: Callable[[str], bool], what: str, within_s: float = BOUND_S) -> float:
        """Read until something new on the screen is so; the time of it.

        Raises:
            TimeoutError: it never was.
        """
        deadline = time.perf_counter() + within_s
        while True:
            left = deadline - time.perf_counter()
            if left <= 0 or not select.select([self._master], [], [], left)[0]:
                raise TimeoutError(f"within {within_s:.0f} s the screen did not come to show {what}")
            if shown(self._next()):
                return time.perf_counter()

    def rest(self, quiet_s: float, at_most_s: float = BOUND_S) -> str:
        """Everything, until nothing more came for so long."""
        seen = ""
        deadline = time.perf_counter() + at_most_s
        while time.perf_counter() < deadline and select.select([self._master], [], [], quiet_s)[0]:
            seen += self._next()
        return seen

    def _next(self) -> str:
        """The next piece of what is printed, without its sequences."""
        try:
            self._raw += os.read(self._master, 1 << 16).decode("utf-8", "replace")
        except OSError:  # Linux says EIO when the other side is gone
            raise RuntimeError("the program ended") from None
        open_end = _UNFINISHED.search(self._raw)
        cut = open_end.start() if open_end and not _SEQUENCE.match(open_end[0]) else len(self._raw)
        ready, self._raw = self._raw[:cut], self._raw[cut:]
        return _SEQUENCE.sub("", ready)
