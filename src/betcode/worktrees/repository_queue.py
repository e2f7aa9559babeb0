"""Serializes the work on each repository, in the order of the requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from betcode.domain.repositories.worktrees import RepositoryId


class RepositoryQueues:
    """One line for each repository at which somebody works; git's own locks would fail where these wait."""

    def __init__(self) -> None:
        self._lines: dict[RepositoryId, anyio.Lock] = {}

    @asynccontextmanager
    async def turn(self, repository: RepositoryId) -> AsyncIterator[None]:
        """Wait until nobody else works on the repository. Setups and looks need no turn."""
        line = self._lines.setdefault(repository, anyio.Lock())
        try:
            async with line:
                yield
        finally:
            if not line.locked() and not line.statistics().tasks_waiting:
                self._lines.pop(repository, None)
