"""A server in this process, with a release of the test's own making."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from grpc import aio

from betcode.client.address import grpc_target
from betcode.config.keeping import Keeper
from betcode.config.loading import Loaded
from betcode.config.places import Places, choose_places
from betcode.config.settings import EngineSettings, Settings
from betcode.providers.demo import DemoProvider
from betcode.server import About, Release, make_private_directory, serve
from betcode.sessions import AgentsAtStop, Parting, open_supervisor
from support.stored import store_at
from support.worktree_room import worktrees_of


@asynccontextmanager
async def served(root: Path, release: Release) -> AsyncIterator[tuple[Places, aio.Channel]]:
    """The whole API over the demo agent; sessions begin in `root`."""
    places = choose_places({}, state_dir=root / "state", config_dir=root / "config")
    make_private_directory(places.state_dir)
    about = About(
        "1", 1, str(places.socket), str(places.state_dir), str(places.config_dir), lambda _: "demo", release=release
    )
    settings = EngineSettings()

    async def never(_: AgentsAtStop) -> Parting:
        raise AssertionError("nobody stops it")

    async with (
        store_at(places.database) as store,
        open_supervisor(store, {"demo": DemoProvider()}, settings, places.runs, places=places) as engine,
        worktrees_of(store, engine, places.state_dir) as worktrees,
        serve(
            engine,
            settings,
            places,
            about,
            store.writable,
            never,
            Keeper(places.config_dir, Loaded(Settings())),
            worktrees,
        ),
        aio.insecure_channel(grpc_target(places.socket)) as channel,
    ):
        yield places, channel
