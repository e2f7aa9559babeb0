"""Runs blocking work in a thread that nobody has to wait for, not even the end of the process."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def run_detached(work: Callable[[], T]) -> T:
    """What `work` returns or raises. A caller that stops waiting leaves the thread behind.

    A lookup of a host name cannot be cancelled and may take minutes. The thread pool of the event loop, and so the
    stop of the daemon, would wait for it.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def finish(value: T) -> None:
        if not done.done():
            done.set_result(value)

    def fail(error: Exception) -> None:
        if not done.done():
            done.set_exception(error)

    def run() -> None:
        try:
            value = work()
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets it
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(fail, error)
        else:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(finish, value)

    threading.Thread(target=run, name="webhook", daemon=True).start()
    return await done
