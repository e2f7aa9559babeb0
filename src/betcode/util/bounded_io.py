"""File system access in a thread with a time limit, so that a hung disk never blocks the event loop.

A call that does not return in time keeps its own daemon thread. Nobody waits for that thread, and it does not keep the
process alive. The caller gets `FilesystemTimeout` and continues without the result.
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TypeVar

import anyio

from betcode.domain.bounded_io import FilesystemTimeout

ANSWERS_WITHIN_S = 2.0
_MOST_THREADS = 64
_IDLE_THREADS = 4

T = TypeVar("T")
V = TypeVar("V")


class _WouldWait(Exception):
    """File access is needed, but this code runs on the event loop."""


def follow_links(path: str) -> str:
    """Return the path with symbolic links resolved. On the event loop it raises `_WouldWait` instead."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return os.path.realpath(path)
    raise _WouldWait


class BoundedIO:
    """Bounded access to one set of files. While a call hangs no other starts, so a hung disk costs one thread."""

    def __init__(self, answers_within_s: float = ANSWERS_WITHIN_S) -> None:
        self._bound_s = answers_within_s
        self._hanging = 0
        self._waiting = 0

    @property
    def is_needed(self) -> bool:
        """Return whether a call is running or hangs, so that this object cannot be replaced by a new one."""
        return self._waiting > 0 or self.hangs

    @property
    def hangs(self) -> bool:
        """Return whether a call that timed out has not returned yet."""
        return self._hanging > 0

    async def inline_or_run(self, work: Callable[[], T]) -> T:
        """Run `work` here; if it needs `follow_links`, run it again in a thread. Return its result.

        Raises:
            FilesystemTimeout
        """
        try:
            return work()
        except _WouldWait:
            return await self.run(work)

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread and return its result or raise its error.

        Raises:
            FilesystemTimeout
        """
        if self.hangs:
            raise FilesystemTimeout("the file system did not answer an earlier access")
        done = _threads.submit(work)
        self._waiting += 1
        try:
            with anyio.move_on_after(self._bound_s):
                return await asyncio.shield(done)
        finally:
            self._waiting -= 1
        if done.done():
            return done.result()
        self._hanging += 1
        done.add_done_callback(self._returned)
        raise FilesystemTimeout(f"the file system did not answer within {self._bound_s:g} s")

    def _returned(self, _: "asyncio.Future[T]") -> None:
        self._hanging -= 1


class BoundedIOPool:
    """One `BoundedIO` per directory, which exists while a call for that directory runs or hangs."""

    def __init__(self, answers_within_s: float = ANSWERS_WITHIN_S) -> None:
        self._bound_s = answers_within_s
        self._by_directory: dict[str, BoundedIO] = {}

    async def run(self, directory: str, work: Callable[[], T]) -> T:
        """Run `work`, which accesses `directory`, in a thread and return its result or raise its error.

        Raises:
            FilesystemTimeout
        """
        files = self._by_directory.setdefault(directory, BoundedIO(self._bound_s))
        try:
            return await files.run(work)
        finally:
            self._by_directory = {name: each for name, each in self._by_directory.items() if each.is_needed}


class _Threads:
    """Daemon threads for file access. Idle threads are reused; hung threads are abandoned."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = Lock()
        self._all = 0
        self._idle = 0

    def submit(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Raises FilesystemTimeout if too many threads hang."""
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._all < _MOST_THREADS:
                self._all += 1
                Thread(target=self._work_off, name="betcode-file-io", daemon=True).start()
            else:
                raise FilesystemTimeout("the file system did not answer too many earlier accesses")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        done.add_done_callback(_retrieve_exception)
        self._jobs.put(lambda: _do(work, done))
        return done

    def _work_off(self) -> None:
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
    except BaseException as trouble:  # noqa: BLE001 - raised again in the waiting task
        _resolve(done, done.set_exception, trouble)
    else:
        _resolve(done, done.set_result, result)


def _resolve(done: "asyncio.Future[T]", set_outcome: Callable[[V], None], value: V) -> None:
    def resolve() -> None:
        if not done.done():
            set_outcome(value)

    with suppress(RuntimeError):  # the loop is closed, so no task waits
        done.get_loop().call_soon_threadsafe(resolve)


def _retrieve_exception(done: "asyncio.Future[T]") -> None:
    if not done.cancelled():
        done.exception()  # so that asyncio does not log it as never retrieved


_threads = _Threads()
