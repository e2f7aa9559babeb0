"""Run blocking work in a thread that nothing waits for, not even the end of the process."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def run_detached(work: Callable[[], T]) -> T:
    """Return or raise the result of `work`. If the caller is cancelled, the thread continues unattended.

    A lookup of a host name cannot be cancelled and may take minutes. The thread pool of the event loop, and so the stop
    of the daemon, would wait for it.
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
        except Exception as error:  # noqa: BLE001 - every exception is passed to the caller
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(fail, error)
        else:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(finish, value)

    threading.Thread(target=run, name="webhook", daemon=True).start()
    return await done
