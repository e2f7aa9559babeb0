"""A server in this process."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from grpc import aio

from betcode.client.address import grpc_target
from betcode.config.load import Loaded
from betcode.config.paths import Paths, choose_paths
from betcode.config.reload import SettingsReloader
from betcode.config.settings import EngineSettings, Settings
from betcode.engine import AgentShutdownPolicy, Engine, ShutdownReport, open_engine
from betcode.providers.demo.provider import DemoProvider
from betcode.server import About, Release, make_private_directory, serve
from betcode.storage import SqliteStore
from support.git.worktree_context import worktrees_of
from support.storage.rows import store_at


@dataclass(frozen=True)
class Served:
    """Everything that a test may look at."""

    paths: Paths
    store: SqliteStore
    engine: Engine
    channel: aio.Channel


async def demo_by_default(_: Mapping[str, str]) -> str:
    return "demo"


@asynccontextmanager
async def served(root: Path, release: Release) -> AsyncIterator[tuple[Paths, aio.Channel]]:
    """The whole API over the demo agent, with a release of the test's own making; sessions begin in `root`."""
    async with all_served(root, release) as everything:
        yield everything.paths, everything.channel


@asynccontextmanager
async def all_served(
    root: Path, release: Release | None = None, options: Sequence[tuple[str, object]] = ()
) -> AsyncIterator[Served]:
    """The same with what is behind it; `options` are those of the channel."""
    paths = choose_paths({}, state_dir=root / "state", config_dir=root / "config")
    make_private_directory(paths.state_dir)
    about = About(
        "1",
        1,
        str(paths.socket),
        str(paths.state_dir),
        str(paths.config_dir),
        demo_by_default,
        release=release or Release(),
    )
    settings = EngineSettings()

    async def never(_: AgentShutdownPolicy) -> ShutdownReport:
        raise AssertionError("nobody stops it")

    async with (
        store_at(paths.database) as store,
        open_engine(store, {"demo": DemoProvider()}, settings, paths.runs, paths=paths) as engine,
        worktrees_of(store, engine, paths.state_dir) as worktrees,
        serve(
            engine,
            settings,
            paths,
            about,
            store.writable,
            never,
            SettingsReloader(paths.config_dir, Loaded(Settings())),
            worktrees,
        ),
        aio.insecure_channel(grpc_target(paths.socket), options=options) as channel,
    ):
        yield Served(paths, store, engine, channel)
