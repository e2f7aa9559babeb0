"""At start the rows of worktrees that are gone are marked and kept, and nobody waits for that."""

import logging
import shutil
from pathlib import Path

import anyio
import pytest

from betcode.config.settings import EngineSettings
from betcode.domain.repositories.worktrees import WorktreeState
from betcode.engine import open_engine
from betcode.providers.demo.provider import DemoProvider
from betcode.storage import SqliteStore
from betcode.worktrees import Worktrees
from support.engine.engine import EngineSession
from support.git.repositories import git
from support.git.worktree_context import worktrees_of
from support.git.worktree_sessions import a_new, where_it_works
from support.patience import PATIENCE_S
from support.storage.hung_disk import hung_disk
from support.storage.rows import store_at

pytestmark = pytest.mark.anyio


async def _known(root: Path, repository: Path) -> None:
    """Two worktrees that an earlier daemon knew."""
    for name in ("fix", "try"):
        git(repository, "worktree", "add", "-q", "-b", name, str(root / name))
    async with (
        store_at(root / "log.db") as store,
        open_engine(store, {"demo": DemoProvider()}, EngineSettings(), root / "runs") as engine,
        worktrees_of(store, engine, root) as worktrees,
    ):
        await worktrees.listed(str(repository))


async def _becomes_stale(store: SqliteStore, name: str) -> None:
    with anyio.fail_after(PATIENCE_S):
        while {row.name: row.state for row in await store.worktrees.worktrees()}[name] is not WorktreeState.STALE:
            pass


@pytest.mark.behaviour("reconcile.worktrees.stale", "reconcile.worktrees.kept")
async def test_rows_whose_directory_is_gone_are_stale_after_the_start_and_kept(
    tmp_path: Path, repository: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await _known(tmp_path, repository)
    shutil.rmtree(tmp_path / "fix")
    git(repository, "worktree", "move", str(tmp_path / "try"), str(tmp_path / "tried"))
    caplog.set_level(logging.WARNING)
    async with (
        store_at(tmp_path / "log.db") as store,
        open_engine(store, {"demo": DemoProvider()}, EngineSettings(), tmp_path / "runs") as engine,
        worktrees_of(store, engine, tmp_path),
    ):
        await _becomes_stale(store, "fix")
        rows = {row.name: (row.state, row.path) for row in await store.worktrees.worktrees()}
    assert rows == {
        "shop": (WorktreeState.READY, str(repository)),
        "fix": (WorktreeState.STALE, str(tmp_path / "fix")),
        "try": (WorktreeState.READY, str(tmp_path / "tried")),
    }
    assert [record.levelname for record in caplog.records if "a worktree is missing" in record.message] == ["WARNING"]


async def test_a_disk_that_hangs_does_not_hold_up_the_start(tmp_path: Path, repository: Path) -> None:
    await _known(tmp_path, repository)
    with hung_disk(repository) as disk:
        async with (
            store_at(tmp_path / "log.db") as store,
            open_engine(store, {"demo": DemoProvider()}, EngineSettings(), tmp_path / "runs") as engine,
            worktrees_of(store, engine, tmp_path) as worktrees,
        ):
            assert isinstance(worktrees, Worktrees)
            assert {row.state for row in await store.worktrees.worktrees()} == {WorktreeState.READY}
            assert disk.on_a_loop == []


async def test_an_engine_waits_until_it_is_told_where_worktrees_are(tmp_path: Path, repository: Path) -> None:
    await _known(tmp_path, repository)
    async with (
        store_at(tmp_path / "log.db") as store,
        open_engine(store, {"demo": DemoProvider()}, EngineSettings(), tmp_path / "runs") as engine,
        anyio.create_task_group() as tasks,
    ):
        row = next(row for row in await store.worktrees.worktrees() if row.name == "fix")
        new = a_new(tmp_path / "fix", worktree=row.id)
        talk = EngineSession(engine, store, await engine.create(new), tmp_path)
        git(repository, "worktree", "move", str(tmp_path / "fix"), str(tmp_path / "moved"))
        done = anyio.Event()

        async def ask() -> None:
            assert await where_it_works(talk) == str(tmp_path / "moved")
            done.set()

        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        async with worktrees_of(store, engine, tmp_path):
            with anyio.fail_after(PATIENCE_S):
                await done.wait()
