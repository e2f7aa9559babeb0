"""Worktrees over a real git, for tests that have a store and an engine in this process."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from betcode.config.settings import Settings
from betcode.git.running import Git
from betcode.sessions import Supervisor
from betcode.storage import SqliteStore
from betcode.worktrees import Worktrees, open_worktrees


@asynccontextmanager
async def worktrees_of(
    store: SqliteStore, engine: Supervisor, state_dir: Path, settings: Settings | None = None
) -> AsyncIterator[Worktrees]:
    async with open_worktrees(
        store.worktrees,
        Git(os.environ),
        engine,
        settings or Settings(),
        state_dir,
        is_trusted=engine.policy.is_trusted,
        environment=_own_environment,
    ) as worktrees:
        yield worktrees


async def _own_environment() -> Mapping[str, str]:
    return os.environ
