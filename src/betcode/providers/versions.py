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

AGAIN_AFTER_S = 60.0  # a program that said none is asked once more: the machine may have been busy
_OUTPUT_LIMIT_BYTES = 4096
_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+(?:-[0-9A-Za-z.]+)?)")

Clock = Callable[[], float]
_Seen = TypeVar("_Seen")


@dataclass(frozen=True, slots=True)
class Bounds:
    read_s: float = 3.0  # a program that has not said its version by then says none
    wait_s: float = 1.0  # whoever asks meanwhile goes on without


@dataclass(frozen=True, slots=True)
class Program:
    """A file as it stands on the disk: one that was replaced or changed is another."""

    path: Path
    inode: int
    modified_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class _VersionReply:
    version: str  # empty: none
    at: float


class AgentVersions:
    """The versions of agents' programs, by what stands on the disk now. Nothing here blocks the event loop."""

    def __init__(
        self, environment: Mapping[str, str], bounds: Bounds | None = None, *, clock: Clock = time.monotonic
    ) -> None:
        self._bounds = bounds or Bounds()
        self._environment = dict(environment)
        self._clock = clock
        self._said: dict[Path, tuple[Program, _VersionReply]] = {}
        self._thread = ThreadPoolExecutor(1, "agent version")
        self._under_way: dict[Path, Future[str]] = {}
        self._asked: Child | None = None
        self._is_closed = False
        self._looks = anyio.CapacityLimiter(2)  # of its own: a disk that hangs would keep the threads of others

    def known(self, binary: Path) -> str | None:
        """What this program said before; empty where it said nothing, None where it was not asked."""
        program = program_at(binary)
        kept = self._said.get(binary)
        if program is None or kept is None or kept[0] != program:
            return None
        is_old = not kept[1].version and self._clock() - kept[1].at > AGAIN_AFTER_S
        return None if is_old else kept[1].version

    async def of(self, binary: Path) -> str:
        """The program's version; empty where it does not say one, or not soon enough for us to wait."""
        known = await self.looked(lambda: self.known(binary))
        if known is not None:
            return known
        if self._is_closed:
            return ""
        asking = self._under_way.get(binary)
        if asking is None or asking.done():
            asking = self._under_way[binary] = self._thread.submit(self._ask, binary)
        with anyio.move_on_after(self._bounds.wait_s):
            # Shielded: who does not wait any longer leaves it to the next who asks.
            return await asyncio.shield(asyncio.wrap_future(asking))
        return ""

    async def looked(self, look: Callable[[], _Seen]) -> _Seen | None:
        """What a look at the disk finds; None where that does not answer soon enough."""
        with anyio.move_on_after(self._bounds.wait_s):
            return await anyio.to_thread.run_sync(look, abandon_on_cancel=True, limiter=self._looks)
        return None

    def close(self) -> None:
        """Ask nobody any more, and leave no program behind that is being asked."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._asked is not None:
            self._asked.signal_group(signal.SIGKILL)

    def _ask(self, binary: Path) -> str:
        if (known := self.known(binary)) is not None:
            return known  # somebody else asked since it was looked up
        program = program_at(binary)
        if program is None:
            return ""
        version = version_in(self._first_words(binary))
        if not version:
            logger.warning("%s reports no version", binary)
        self._said[binary] = (program, _VersionReply(version, self._clock()))
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
    """The file that would be run; links are followed, since an upgrade often changes where one points."""
    try:
        found = binary.stat()
    except OSError:
        return None
    return Program(binary, found.st_ino, found.st_mtime_ns, found.st_size)


def version_in(words: str) -> str:
    """The first version in a text: 1.0.22 in "claude v1.0.22", 2.1.6 in "2.1.6 (Claude Code)"."""
    found = _VERSION.search(words)
    return found.group(1) if found else ""


def asked(binary: Path, environment: Mapping[str, str]) -> Child:
    """`binary --version`, begun in a process group of its own, so that whatever it starts can be ended with it.

    Raises:
        OSError: it cannot be run.
    """
    return start([str(binary), "--version"], {**environment, "DISABLE_AUTOUPDATER": "1"}, stderr=DEVNULL)


def read_version(binary: Path, environment: Mapping[str, str], bound_s: float) -> str:
    """What the program itself says now; empty where it says none within the bound. Blocks for that long.

    Raises:
        OSError: it cannot be run.
    """
    child = asked(binary, environment)
    try:
        return version_in(first_words(child, bound_s))
    finally:
        child.end_now()


def first_words(child: Child, bound_s: float) -> str:
    """The beginning of what it prints within the bound."""
    return _read(child.out, time.monotonic() + bound_s).decode(errors="replace")


def _read(descriptor: int, until: float) -> bytes:
    """What comes until its end, the bound or the limit; a line that has ended is enough."""
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
