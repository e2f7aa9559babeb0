"""A whole engine with worktrees over real git, in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from betcode.config.paths import Paths, choose_paths
from betcode.config.settings import EngineSettings
from betcode.domain.repositories.worktrees import WorktreeRow
from betcode.engine import Engine, open_engine
from betcode.providers.demo.provider import DemoProvider
from betcode.server import make_private_directory
from betcode.storage import SqliteStore
from betcode.worktrees import Worktrees
from betcode.worktrees.context import Faults
from support.git.repositories import git, make_repository
from support.git.worktree_context import worktrees_of
from support.storage.rows import store_at


@dataclass(frozen=True)
class Bench:
    """Everything that a test may look at."""

    store: SqliteStore
    engine: Engine
    worktrees: Worktrees
    paths: Paths
    faults: list[Faults]  # what is called at each named step


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home directory of calls of git; to be asked for before what calls it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    paths = choose_paths({}, state_dir=tmp_path / "state", config_dir=tmp_path / "config")
    make_private_directory(paths.state_dir)
    faults: list[Faults] = []

    def at(step: str) -> None:
        for each in [*faults]:
            each(step)

    async with (
        store_at(paths.database) as store,
        open_engine(store, {"demo": DemoProvider()}, EngineSettings(), paths.runs, paths=paths) as engine,
        worktrees_of(store, engine, paths.state_dir, faults=at) as worktrees,
    ):
        yield Bench(store, engine, worktrees, paths, faults)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "shop")


@pytest.fixture
def place(repository: Path, tmp_path: Path) -> Path:
    """A worktree of it that somebody else made, on a branch of its own."""
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix"))
    return tmp_path / "fix"


async def row_of(bench: Bench, place: Path) -> WorktreeRow:
    """The worktree at that path, which may be gone."""
    for each in await bench.worktrees.listed(""):
        if each.row.path == str(place):
            return each.row
    await bench.worktrees.listed(str(place))
    return await row_of(bench, place)


@asynccontextmanager
async def gone(bench: Bench, repository: Path, place: Path) -> AsyncIterator[str]:
    """The worktree is removed by force, and back when the block is left."""
    row = await row_of(bench, place)
    done = await bench.worktrees.remove(row.id, force=True)
    assert not place.exists()
    yield done.removed_id
    back = await bench.worktrees.restore(str(repository), done.removed_id, "")
    assert (back.row.id, back.row.trouble) == (row.id, "")
