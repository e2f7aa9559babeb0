"""Background work that continues when its caller disconnects."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from betcode.domain.errors import BetcodeError, DaemonStopping, StorageDegraded
from betcode.worktrees.create.setup_output import ProgressFeed

logger = logging.getLogger(__name__)
T = TypeVar("T")

_ATTEMPTS = 30
_AGAIN_AFTER_S = 1.0


async def insist(write: Callable[[], Awaitable[T]]) -> T:
    """Record the result of an operation, retrying while the disk is full.

    Raises:
        StorageDegraded: it lasted too long; the next daemon finishes it.
    """
    for _ in range(_ATTEMPTS):
        with suppress(StorageDegraded):
            return await write()
        await anyio.sleep(_AGAIN_AFTER_S)
    return await write()


class BackgroundWork(Generic[T]):
    """A running operation: `feed` reports its progress, and `result` waits for its end."""

    def __init__(self) -> None:
        self.feed = ProgressFeed()
        self._ended = anyio.Event()
        self._result: T | None = None
        self._trouble: Exception | None = None

    async def result(self) -> T:
        """Return its result; cancelling the wait does not cancel the work.

        Raises:
            BetcodeError: whatever the work raised.
        """
        await self._ended.wait()
        if self._trouble is not None:
            raise self._trouble
        return self._result  # type: ignore[return-value] # it is set where there was no trouble

    async def _carry(self, work: Callable[[ProgressFeed], Awaitable[T]]) -> None:
        self._trouble = DaemonStopping()  # unless it ends otherwise
        try:
            self._result = await work(self.feed)
            self._trouble = None
        except BetcodeError as trouble:
            logger.info("work on a worktree was not done: %s", trouble.code)  # the sentence may quote a program
            self._trouble = trouble
        except Exception as trouble:
            logger.exception("work on a worktree failed")
            self._trouble = trouble
        finally:
            self.feed.close()
            self._ended.set()


def begin(tasks: TaskGroup, work: Callable[[ProgressFeed], Awaitable[T]]) -> BackgroundWork[T]:
    """Start it in a task group that outlives the caller."""
    begun: BackgroundWork[T] = BackgroundWork()
    tasks.start_soon(begun._carry, work)
    return begun
