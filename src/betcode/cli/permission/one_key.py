"""Answer a prompt with one key; input typed before the prompt was shown is ignored."""

import os
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio

from betcode.cli.terminal.keyboard import Keyboard
from betcode.wording.prompts import (
    Allow,
    AllowSession,
    Deny,
    DenyAndStop,
    Permission,
    Prompt,
    PromptAnswer,
    Reply,
    ShowAll,
    chosen_options,
    offered,
)


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave the prompt open."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Stop watching."""


@dataclass(frozen=True, slots=True)
class Write:
    """Type the answer as a line."""


Pressed = PromptAnswer | ShowAll | Skip | Quit | Write

_ENDS = frozenset({"q", "", "\x04"})  # the last two mean the end of input


def quits(key: str) -> bool:
    """Whether a key stops the watching."""
    return key in _ENDS


def understand_key(prompt: Prompt, key: str) -> Pressed | None:
    """Return the meaning of a key for a prompt; None if it has none."""
    match key:
        case _ if quits(key):
            return Quit()
        case "k":
            return Skip()
        case "v":
            return ShowAll()
        case "t":
            return Write()
        case "n":
            return Deny()
        case _:
            pass
    number = int(key) if key.isascii() and key.isdigit() else 0
    if isinstance(prompt, Permission):
        if key == "y":
            return Allow()
        if key == "i":
            return DenyAndStop()
        pattern = offered(prompt.request.grant_offers, number) if number else None
        return AllowSession(pattern) if pattern is not None else None
    chosen = chosen_options(prompt.asked, key) if number else None
    return Reply(chosen) if chosen is not None else None


def keys_line(prompt: Prompt) -> str:
    """Return the keys for this prompt, as one line."""
    if isinstance(prompt, Permission):
        count = min(len(prompt.request.grant_offers), 9)
        session = f"1-{count} = for this session, " if count > 1 else "1 = for this session, " if count else ""
        return f"Allow? [y = yes, {session}n = no, i = no and stop, t = type, v = show all, k = skip, q = quit] "
    count = min(len(prompt.asked.options), 9)
    choose = f"1-{count} = choose, " if count else ""
    return f"Your answer [{choose}t = type, n = none, k = skip, q = quit] "


class Keys:
    """Reads single keys from a terminal."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._keyboard = Keyboard(descriptor)

    @contextmanager
    def unlined(self) -> Iterator[None]:
        """Switch the terminal to single keys, and restore it afterwards; Ctrl-C still interrupts."""
        before = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor, termios.TCSANOW)
        try:
            yield
        finally:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, before)

    def discard_input(self) -> None:
        self._keyboard.discard_input()

    async def key(self) -> str:
        """Return the next key; empty at the end of input. An escape sequence is one key."""
        with self.unlined():
            await anyio.wait_readable(self._descriptor)
            return os.read(self._descriptor, 32).decode(errors="replace")

    async def line(self) -> str | None:
        """Return a typed line."""
        return await self._keyboard.line()
