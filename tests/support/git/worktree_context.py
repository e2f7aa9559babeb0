"""Worktrees over a real git, for tests that have a store and an engine in this process."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from betcode.config.settings import Settings
from betcode.engine import Engine
from betcode.git.command import Git
from betcode.storage import SqliteStore
from betcode.worktrees import Snapshots, Worktrees, open_snapshots, open_worktrees
from betcode.worktrees.context import Faults, no_faults


@asynccontextmanager
async def worktrees_of(
    store: SqliteStore,
    engine: Engine,
    state_dir: Path,
    settings: Settings | None = None,
    snapshots: Snapshots | None = None,
    faults: Faults = no_faults,
) -> AsyncIterator[Worktrees]:
    """The snapshots are those that watch the engine, for a test that has such."""
    async with AsyncExitStack() as opened:
        noting = snapshots
        if noting is None:
            noting = await opened.enter_async_context(snapshots_of(store, state_dir, settings))
        yield await opened.enter_async_context(_worktrees_of(store, engine, state_dir, settings, noting, faults))


def snapshots_of(
    store: SqliteStore, state_dir: Path, settings: Settings | None = None, *, is_on: bool = True
) -> AbstractAsyncContextManager[Snapshots]:
    return open_snapshots(store.worktrees, Git(os.environ), settings or Settings(), state_dir, lambda: is_on)


def _worktrees_of(
    store: SqliteStore,
    engine: Engine,
    state_dir: Path,
    settings: Settings | None,
    snapshots: Snapshots,
    faults: Faults,
) -> AbstractAsyncContextManager[Worktrees]:
    return open_worktrees(
        store.worktrees,
        Git(os.environ),
        engine,
        settings or Settings(),
        state_dir,
        snapshots,
        is_trusted=engine.policy.is_trusted,
        environment=_own_environment,
        faults=faults,
    )


async def _own_environment() -> Mapping[str, str]:
    return os.environ
