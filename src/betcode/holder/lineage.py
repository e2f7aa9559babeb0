"""Describes the process that makes a request, and its ancestors."""

# pathlib and contextlib would make the holder slower to start and larger.
# ruff: noqa: PTH115, PTH119, PTH123

import os
import sys
import time
from collections.abc import Callable

from betcode.holder.platform import process

_LONGEST_NAME = 40
_MOST_ANCESTORS = 12
_AT_ONCE = 10
_ONE_MORE_S = 10.0


def lineage(pid: int, *, ancestors: bool = False) -> str:
    """Return `pid 7 (curl)`, optionally with its ancestors up to the first process: ` < 5 (bash) < 1 (init)`."""
    words = [f"pid {pid} ({_program(pid)})"]
    found = process(pid)
    while ancestors and found is not None and found.parent > 0 and len(words) <= _MOST_ANCESTORS:
        words.append(f"{found.parent} ({_program(found.parent)})")
        found = process(found.parent)
    return " < ".join(words)


def _program(pid: int) -> str:
    """Return the program's file, which a process cannot choose; empty if the system does not report it."""
    if sys.platform != "linux":
        return ""
    try:
        name = os.path.basename(os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)"))
    except OSError:
        try:
            with open(f"/proc/{pid}/comm", errors="replace") as comm:
                name = comm.read(64).strip()
        except OSError:
            return ""
    return "".join(c if c.isprintable() and c.isascii() and c not in "()<" else "?" for c in name)[:_LONGEST_NAME]


class Restraint:
    """A rate limit, so that logging cannot fill the disk: a few at once, then one at intervals; the rest is counted."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._room = float(_AT_ONCE)
        self._at = clock()
        self._held = 0

    def passes(self) -> int | None:
        """Return how many were held back before this one; None if this one is held back too."""
        now = self._clock()
        self._room = min(_AT_ONCE, self._room + (now - self._at) / _ONE_MORE_S)
        self._at = now
        if self._room < 1:
            self._held += 1
            return None
        self._room -= 1
        held, self._held = self._held, 0
        return held
