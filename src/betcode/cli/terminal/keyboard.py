"""Read the lines that a person types, without blocking other tasks."""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from betcode.cli.terminal.console import Screen


class Keyboard:
    """Reads whole lines from a descriptor, only while `line` is called."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._buffer = b""
        self._ended = False

    @property
    def is_terminal(self) -> bool:
        return os.isatty(self._descriptor)

    async def line(self) -> str | None:
        """Return the next line without its end; None at the end of input."""
        while b"\n" not in self._buffer and not self._ended:
            with suppress(PermissionError):  # a regular file is always ready and cannot be waited for
                await anyio.wait_readable(self._descriptor)
            chunk = os.read(self._descriptor, 65536)
            self._ended = not chunk
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        if self._ended and not line and not self._buffer:
            return None
        return line.decode(errors="replace").rstrip("\r")

    def discard_input(self) -> None:
        """Discard input that was typed before the question was shown."""
        self._buffer = b""
        if self.is_terminal:
            import termios

            termios.tcflush(self._descriptor, termios.TCIFLUSH)


def can_ask() -> bool:
    """Whether a person can see a question and type an answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(screen: "Screen", question: str, *, otherwise: bool) -> bool:
    """Ask a person a yes/no question. An empty line means `otherwise`, and the end of input means no."""
    screen.ask(question)
    typed = os.read(0, 65536).decode(errors="replace")
    screen.typed()
    word = typed.strip().lower()
    if not word:
        return otherwise and bool(typed)
    return word in ("y", "yes")
