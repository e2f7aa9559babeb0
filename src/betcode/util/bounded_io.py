"""Looks at files that agents and projects name: off the event loop, and for a bounded time.

A file system that does not answer may keep a look for ever. It then has a thread of its own, which nobody waits for
and which does not keep the process from ending; whoever wanted to know goes on without.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TypeVar

import anyio

from betcode.domain.bounded_io import NoAnswer

ANSWERS_WITHIN_S = 2.0
_MOST_THREADS = 64
_IDLE_THREADS = 4

T = TypeVar("T")
V = TypeVar("V")


class _WouldWait(Exception):
    """Something has to look at files, and this is the event loop."""


def follow_links(path: str) -> str:
    """Where a name leads once links are followed; never on the event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return os.path.realpath(path)
    raise _WouldWait


class Lookout:
    """Of one set of files. While one look hangs no other is begun, so that a disk that hangs costs one thread."""

    def __init__(self, answers_within_s: float = ANSWERS_WITHIN_S) -> None:
        self._bound_s = answers_within_s
        self._hanging = 0
        self._waiting = 0

    @property
    def is_needed(self) -> bool:
        """Whether it knows something that another one would not."""
        return self._waiting > 0 or self.hangs

    @property
    def hangs(self) -> bool:
        """Whether a look that was given up has not come back."""
        return self._hanging > 0

    async def see(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises: done here if it looks at no file, else once more and in a thread.

        Raises:
            NoAnswer
        """
        try:
            return work()
        except _WouldWait:
            return await self.look(work)

    async def look(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, done in a thread.

        Raises:
            NoAnswer
        """
        if self.hangs:
            raise NoAnswer("files that were looked at before give no answer yet")
        done = _threads.begin(work)
        self._waiting += 1
        try:
            with anyio.move_on_after(self._bound_s):
                return await asyncio.shield(done)
        finally:
            self._waiting -= 1
        if done.done():
            return done.result()
        self._hanging += 1
        done.add_done_callback(self._came_back)
        raise NoAnswer(f"files gave no answer within {self._bound_s:g} s")

    def _came_back(self, _: "asyncio.Future[T]") -> None:
        self._hanging -= 1


class Lookouts:
    """One for each directory that clients name, for as long as somebody looks there or a look hangs."""

    def __init__(self, answers_within_s: float = ANSWERS_WITHIN_S) -> None:
        self._bound_s = answers_within_s
        self._by_directory: dict[str, Lookout] = {}

    async def look(self, directory: str, work: Callable[[], T]) -> T:
        """What `work`, which looks there, returns or raises; done in a thread.

        Raises:
            NoAnswer
        """
        lookout = self._by_directory.setdefault(directory, Lookout(self._bound_s))
        try:
            return await lookout.look(work)
        finally:
            self._by_directory = {name: each for name, each in self._by_directory.items() if each.is_needed}


class _Threads:
    """Threads for looks; an idle one serves the next, and those that hang are left alone."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = Lock()
        self._all = 0
        self._idle = 0

    def begin(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Raises NoAnswer where too many hang."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._all < _MOST_THREADS:
                self._all += 1
                Thread(target=self._serve, name="betcode-look", daemon=True).start()
            else:
                raise NoAnswer("too many looks at files give no answer yet")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        done.add_done_callback(_heard)
        self._jobs.put(lambda: _do(work, done))
        return done

    def _serve(self) -> None:
        while True:
            self._jobs.get()()
            with self._lock:
                if self._idle >= _IDLE_THREADS:
                    self._all -= 1
                    return
                self._idle += 1


def _do(work: Callable[[], T], done: "asyncio.Future[T]") -> None:
    try:
        result = work()
    except BaseException as trouble:  # noqa: BLE001 - it is raised where it is waited for
        _tell(done, done.set_exception, trouble)
    else:
        _tell(done, done.set_result, result)


def _tell(done: "asyncio.Future[T]", say: Callable[[V], None], value: V) -> None:
    def tell() -> None:
        if not done.done():
            say(value)

    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        done.get_loop().call_soon_threadsafe(tell)


def _heard(done: "asyncio.Future[T]") -> None:
    if not done.cancelled():
        done.exception()  # it is no loose end where nobody waits any more


_threads = _Threads()
