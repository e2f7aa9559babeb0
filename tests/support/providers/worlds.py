"""Every kind of agent that runs here for real, each with a stand-in for its model: one way to try them all."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from betcode.client import Client, NewConversation, open_client
from betcode.v1 import agent_pb2 as v1
from support.apis.openai.server import script
from support.apis.openai.sessions import openai_world
from support.apis.openclaw import memory as openclaw_memory
from support.apis.openclaw.process import StandIn
from support.daemon.process import Daemon, running_daemon
from support.daemon.runs import RunOnDisk, runs_in
from support.daemon.session import Talk
from support.providers.codex import codex_world
from support.providers.opencode import opencode_world

LAST_WORDS = "It is there."
COMMAND = "echo mark >> marks"


@dataclass(frozen=True, slots=True)
class ProviderWorld:
    daemon: Daemon
    client: Client
    session: Callable[[], Awaitable[Talk]]
    # What a message has to be so that the agent runs COMMAND and says LAST_WORDS, and so that it says something else.
    uses_a_tool: str = script({"text": "A mark.", "tools": [{"cmd": COMMAND}]}, {"text": LAST_WORDS})
    talks: str = script({"text": "Here I am."})

    @property
    def runs(self) -> list[RunOnDisk]:
        """Of all sessions, oldest first."""
        return runs_in(self.daemon.paths.runs)

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


@asynccontextmanager
async def _opencode(root: Path) -> AsyncIterator[ProviderWorld]:
    async with opencode_world(root) as world:
        yield ProviderWorld(world.daemon, world.client, world.session)


@asynccontextmanager
async def _openclaw(root: Path) -> AsyncIterator[ProviderWorld]:
    gateway = StandIn(root / "gateway")
    settings = {"agents": {"openclaw": {"url": gateway.url, "token_file": str(gateway.token_file)}}}
    gateway.start()
    try:
        await gateway.serves()
        async with running_daemon(root, settings=settings) as daemon, open_client(daemon.paths) as client:

            async def session() -> Talk:
                new = NewConversation(str(daemon.work), provider="openclaw", environment=daemon.environment)
                return Talk(client, await client.start_session(new))

            uses_a_tool = openclaw_memory.script({"text": "A mark.", "cmd": COMMAND}, {"text": LAST_WORDS})
            talks = openclaw_memory.script({"text": "Here I am."})
            yield ProviderWorld(daemon, client, session, uses_a_tool, talks)
    finally:
        gateway.kill()


WORLDS: Mapping[str, Callable[[Path], AbstractAsyncContextManager[ProviderWorld]]] = {
    "openai": _openai,
    "openclaw": _openclaw,
    "codex": _codex,
    "opencode": _opencode,
}
