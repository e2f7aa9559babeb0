"""Reads the version of an agent's program once, and again when the program file changes."""

import asyncio
import logging
import os
import re
import select
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from typing import TypeVar

import anyio
import anyio.to_thread

from betcode.proc.child import Child, start

logger = logging.getLogger(__name__)

AGAIN_AFTER_S = 60.0  # retry a program that reported no version: the machine may have been busy
_OUTPUT_LIMIT_BYTES = 4096
_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+(?:-[0-9A-Za-z.]+)?)")

Clock = Callable[[], float]
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Bounds:
    read_s: float = 3.0  # the time limit for a program to print its version
    wait_s: float = 1.0  # the time that a caller waits for it


@dataclass(frozen=True, slots=True)
class Program:
    """Identifies the current contents of a program file: a replaced or changed file is another program."""

    path: Path
    inode: int
    modified_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class _VersionReply:
    version: str  # empty: none
    at: float


class AgentVersions:
    """Caches the versions of agents' programs by their files. No method that is a coroutine blocks the event loop."""

    def __init__(
        self, environment: Mapping[str, str], bounds: Bounds | None = None, *, clock: Clock = time.monotonic
    ) -> None:
        self._bounds = bounds or Bounds()
        self._environment = dict(environment)
        self._clock = clock
        self._cache: dict[Path, tuple[Program, _VersionReply]] = {}
        self._thread = ThreadPoolExecutor(1, "agent version")
        self._under_way: dict[Path, Future[str]] = {}
        self._asked: Child | None = None
        self._is_closed = False
        self._limiter = anyio.CapacityLimiter(2)  # a separate limiter: a hanging disk would block the threads of others

    def known(self, binary: Path) -> str | None:
        """Return the cached version; empty if the program reported none, None if nothing is cached."""
        program = program_at(binary)
        cached = self._cache.get(binary)
        if program is None or cached is None or cached[0] != program:
            return None
        is_old = not cached[1].version and self._clock() - cached[1].at > AGAIN_AFTER_S
        return None if is_old else cached[1].version

    async def of(self, binary: Path) -> str:
        """Return the program's version; empty if it reports none, or not within `wait_s`."""
        known = await self.bounded_read(lambda: self.known(binary))
        if known is not None:
            return known
        if self._is_closed:
            return ""
        asking = self._under_way.get(binary)
        if asking is None or asking.done():
            asking = self._under_way[binary] = self._thread.submit(self._ask, binary)
        with anyio.move_on_after(self._bounds.wait_s):
            # Shielded: the next caller can use the result even if this one stops waiting.
            return await asyncio.shield(asyncio.wrap_future(asking))
        return ""

    async def bounded_read(self, read: Callable[[], _Result]) -> _Result | None:
        """Run a file read in a thread; None if it takes longer than `wait_s`."""
        with anyio.move_on_after(self._bounds.wait_s):
            return await anyio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=self._limiter)
        return None

    def close(self) -> None:
        """Start no more programs, and kill the one that runs."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._asked is not None:
            self._asked.signal_group(signal.SIGKILL)

    def _ask(self, binary: Path) -> str:
        if (known := self.known(binary)) is not None:
            return known  # another caller has read it meanwhile
        program = program_at(binary)
        if program is None:
            return ""
        version = version_in(self._first_words(binary))
        if not version:
            logger.warning("%s reports no version", binary)
        self._cache[binary] = (program, _VersionReply(version, self._clock()))
        return version

    def _first_words(self, binary: Path) -> str:
        try:
            child = asked(binary, self._environment)
        except OSError as error:
            logger.warning("%s cannot be run: %s", binary, error)
            return ""
        self._asked = child
        try:
            return "" if self._is_closed else first_words(child, self._bounds.read_s)
        finally:
            self._asked = None
            child.end_now()


def program_at(binary: Path) -> Program | None:
    """Identify the program file. Links are followed, because an upgrade often changes the target of one."""
    try:
        found = binary.stat()
    except OSError:
        return None
    return Program(binary, found.st_ino, found.st_mtime_ns, found.st_size)


def version_in(words: str) -> str:
    """Return the first version in a text: 1.0.22 in "claude v1.0.22", 2.1.6 in "2.1.6 (Claude Code)"."""
    found = _VERSION.search(words)
    return found.group(1) if found else ""


def asked(binary: Path, environment: Mapping[str, str]) -> Child:
    """Start `binary --version` in a process group of its own, so that its children can be ended with it.

    Raises:
        OSError: it cannot be run.
    """
    return start([str(binary), "--version"], {**environment, "DISABLE_AUTOUPDATER": "1"}, stderr=DEVNULL)


def read_version(binary: Path, environment: Mapping[str, str], bound_s: float) -> str:
    """Run the program and return its version; empty if it prints none within `bound_s`. Blocks.

    Raises:
        OSError: it cannot be run.
    """
    child = asked(binary, environment)
    try:
        return version_in(first_words(child, bound_s))
    finally:
        child.end_now()


def first_words(child: Child, bound_s: float) -> str:
    """Return the beginning of the program's output."""
    return _read(child.out, time.monotonic() + bound_s).decode(errors="replace")


def _read(descriptor: int, until: float) -> bytes:
    """Read until the first line break, the end of the output, the time limit or the size limit."""
    data = b""
    readable = select.poll()  # not select(), which takes no descriptor past 1023
    readable.register(descriptor, select.POLLIN)
    while len(data) < _OUTPUT_LIMIT_BYTES and b"\n" not in data:
        left_s = until - time.monotonic()
        if left_s <= 0 or not readable.poll(left_s * 1000):
            break
        piece = os.read(descriptor, _OUTPUT_LIMIT_BYTES)
        if not piece:
            break
        data += piece
    return data
