"""Serializes the work on each repository, in the order of the requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from betcode.domain.repositories.worktrees import RepositoryId


class RepositoryQueues:
    """One queue for each repository in use; git's own locks would fail where these wait."""

    def __init__(self) -> None:
        self._lines: dict[RepositoryId, anyio.Lock] = {}

    @asynccontextmanager
    async def turn(self, repository: RepositoryId) -> AsyncIterator[None]:
        """Wait for exclusive use of the repository. Setups and reads need no turn."""
        line = self._lines.setdefault(repository, anyio.Lock())
        try:
            async with line:
                yield
        finally:
            if not line.locked() and not line.statistics().tasks_waiting:
                self._lines.pop(repository, None)
