"""Wait for the first of two awaitables."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def first_of(ended: Callable[[], Awaitable[object]], awaitable: Callable[[], Awaitable[T]]) -> T | None:
    """Return the result of `awaitable`, or raise its exception; None if `ended` finishes first."""
    found: T | None = None
    trouble: Exception | None = None  # raised outside of the task group, which would wrap it
    async with anyio.create_task_group() as tasks:

        async def cancel_other() -> None:
            await ended()
            tasks.cancel_scope.cancel()

        tasks.start_soon(cancel_other)
        try:
            found = await awaitable()
        except Exception as raised:  # noqa: BLE001 - it is raised again
            trouble = raised
        tasks.cancel_scope.cancel()
    if trouble is not None:
        raise trouble
    return found
