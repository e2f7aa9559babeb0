"""Show on a terminal what takes longer than a second, and for how long."""

import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio

from betcode.cli.terminal.console import Screen

_AFTER_S = 1.0


@asynccontextmanager
async def show_progress(screen: Screen, doing: str, *, after_s: float = _AFTER_S) -> AsyncIterator[None]:
    """Show a line such as `Searching… 3 s` while the block runs. Exceptions of the block pass through unchanged."""
    trouble: Exception | None = None  # raised outside of the task group, which would wrap it

    async def show() -> None:
        began = anyio.current_time()
        while True:
            await anyio.sleep(after_s)
            if screen.is_free:
                screen.show_transient(_progress_text(doing, anyio.current_time() - began))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(show)
        try:
            yield
        except Exception as raised:  # noqa: BLE001 - it is raised again
            trouble = raised
        tasks.cancel_scope.cancel()
    screen.clear_transient()
    if trouble is not None:
        raise trouble


@contextmanager
def show_blocking_progress(screen: Screen, doing: str, *, after_s: float = _AFTER_S) -> Iterator[None]:
    """Do the same for blocking work; nothing else may write meanwhile."""
    over = threading.Event()

    def show() -> None:
        began = time.monotonic()
        while not over.wait(after_s):
            screen.show_transient(_progress_text(doing, time.monotonic() - began))

    teller = threading.Thread(target=show, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        screen.clear_transient()


def _progress_text(doing: str, took_s: float) -> str:
    return f"{doing}… {took_s:.0f} s"
