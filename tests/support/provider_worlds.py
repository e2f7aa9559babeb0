"""Every kind of agent that runs here for real, each with a stand-in for its model: one way to try them all."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from betcode.client import Client
from betcode.v1 import agent_pb2 as v1
from support.codex import codex_world
from support.daemon import Daemon
from support.openai_sessions import openai_world
from support.runs import RunOnDisk, runs_in
from support.talk import Talk


@dataclass(frozen=True, slots=True)
class ProviderWorld:
    daemon: Daemon
    client: Client
    session: Callable[[], Awaitable[Talk]]

    @property
    def runs(self) -> list[RunOnDisk]:
        """Of all sessions, oldest first."""
        return runs_in(self.daemon.places.runs)

    async def capabilities(self, talk: Talk) -> v1.ProviderCapabilities:
        """What a client is told that the session's agent can do."""
        return (await self.client.read_events(talk.session_id)).session_info.capabilities


@asynccontextmanager
async def _openai(root: Path) -> AsyncIterator[ProviderWorld]:
    async with openai_world(root) as world:
        yield ProviderWorld(world.daemon, world.client, world.session)


@asynccontextmanager
async def _codex(root: Path) -> AsyncIterator[ProviderWorld]:
    async with codex_world(root) as world:
        yield ProviderWorld(world.daemon, world.client, world.session)


WORLDS: Mapping[str, Callable[[Path], AbstractAsyncContextManager[ProviderWorld]]] = {
    "openai": _openai,
    "codex": _codex,
}
