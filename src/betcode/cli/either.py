"""Waiting for one of two things."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def unless(ended: Callable[[], Awaitable[object]], wanted: Callable[[], Awaitable[T]]) -> T | None:
    """What is wanted; None where `ended` is over before."""
    found: T | None = None
    async with anyio.create_task_group() as tasks:

        async def let_go() -> None:
            await ended()
            tasks.cancel_scope.cancel()

        tasks.start_soon(let_go)
        found = await wanted()
        tasks.cancel_scope.cancel()
    return found
