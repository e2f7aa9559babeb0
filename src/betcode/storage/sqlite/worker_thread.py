"""Threads that work for the event loop, and how the loop yields the GIL to them."""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")

_GIVE_WAY_S = 0.001


class GilYield:
    """Leaves the interpreter to a thread while it works for the loop, a millisecond at most at a time.

    A thread that talks to SQLite gives the interpreter up at every step and must get it back after each. Beside a loop
    that is always busy it can starve (measured on two idle cores: 12 s for one read); a loop that sleeps for those
    hundred microseconds lets it finish at once. The bound keeps a slow disk from stopping the loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, bound_s: float = _GIVE_WAY_S) -> None:
        self._loop = loop
        self._bound_s = bound_s
        self._finished = threading.Event()
        self._asked = False

    def handed_over(self) -> None:
        """On the loop: the thread has something to do."""
        self._finished.clear()
        if not self._asked:
            # Not at once: what else this round of the loop hands over goes with it.
            self._asked = True
            self._loop.call_soon(self._wait)

    def finished(self) -> None:
        """In the thread: there are no more jobs."""
        self._finished.set()

    def _wait(self) -> None:
        if self._finished.wait(self._bound_s):
            self._asked = False
        else:
            self._loop.call_later(2 * self._bound_s, self._wait)


class Job(Generic[T]):
    """Something a thread does for the loop, and where its result goes."""

    __slots__ = ("future", "work")

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Callable[..., T]) -> None:
        self.work = work
        self.future: asyncio.Future[T] = loop.create_future()

    def settle(self, result: T | None, error: BaseException | None) -> None:
        """On the loop: give the result to a caller that still waits."""
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)  # type: ignore[arg-type]
        else:
            self.future.set_exception(error)


class WorkerThread(Generic[T]):
    """One thread that calls what it is given, one after the other, with a thing of its own."""

    def __init__(self, name: str, thing: T, loop: asyncio.AbstractEventLoop) -> None:
        self.waiting = 0
        self._thing = thing
        self._loop = loop
        self._queue: SimpleQueue[Job[object] | None] = SimpleQueue()
        self._gil_yield = GilYield(loop)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def call(self, work: "Callable[[T], R]") -> "R":
        """What `work` gives in the thread."""
        asked = Job(self._loop, work)
        self.waiting += 1
        self._queue.put(asked)  # type: ignore[arg-type]
        self._gil_yield.handed_over()
        try:
            return await asked.future
        finally:
            self.waiting -= 1

    def stop(self) -> None:
        """Finish what was asked, and end. May be called from any thread but its own."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (asked := self._queue.get()) is not None:
            result: object = None
            error: BaseException | None = None
            try:
                result = asked.work(self._thing)
            except Exception as failure:  # noqa: BLE001 - it is raised in the caller
                error = failure
            self._loop.call_soon_threadsafe(asked.settle, result, error)
            if self._queue.empty():
                self._gil_yield.finished()


R = TypeVar("R")


async def outcome(future: asyncio.Future[T]) -> T:
    """The result, even for a caller that is cancelled meanwhile: the cancellation comes at its next await.

    Whoever commits must learn whether it happened; one that leaves without knowing gives a number twice.
    """
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError as error:
        cancelled = error
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    with anyio.CancelScope(shield=True):
        while not future.done():
            try:
                await asyncio.wait((future,))
            except asyncio.CancelledError:  # a plain asyncio cancellation, which no scope holds back
                task.uncancel()
    task.cancel(*cancelled.args)  # the same one again, so that a scope still knows it for its own
    return future.result()
