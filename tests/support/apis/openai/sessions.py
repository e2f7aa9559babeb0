"""Sessions of our own agent for OpenAI-compatible APIs, through a real daemon, with a stand-in for the model."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from betcode.client import Client, NewConversation, open_client
from support.apis.openai.server import ApiRequest, OpenAiApi, openai_api
from support.daemon.process import Daemon, running_daemon
from support.daemon.runs import RunOnDisk, runs_in
from support.daemon.session import Talk

KEY, KEY_VARIABLE = "sk-not-a-real-key-but-a-secret", "LAB_MODEL_ACCESS"
WIRES = ("responses", "chat")


@dataclass(frozen=True, slots=True)
class OpenAiWorld:
    daemon: Daemon
    client: Client
    api: OpenAiApi
    wire: str

    @property
    def work(self) -> Path:
        return self.daemon.work

    @property
    def runs(self) -> list[RunOnDisk]:
        return runs_in(self.daemon.paths.runs)

    @property
    def transcripts(self) -> Path:
        return self.daemon.paths.state_dir / "agents" / "openai"

    async def session(self, *, model: str = "stand-in", **config: str) -> Talk:
        said = {"base_url": self.api.base_url, "api_key_env": KEY_VARIABLE, "wire_api": self.wire, **config}
        new = NewConversation(
            working_directory=str(self.work),
            provider="openai",
            model=model,
            metadata={f"provider_config.{name}": value for name, value in said.items()},
            environment={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.daemon.root), KEY_VARIABLE: KEY},
        )
        return Talk(self.client, await self.client.start_session(new))

    async def model_called(self, number: int) -> ApiRequest:
        """The request of that number, counted from 1."""
        await anyio.to_thread.run_sync(self.api.wait_for_requests, number)
        return self.api.requests[number - 1]


@asynccontextmanager
async def openai_world(
    root: Path, wire: str = "responses", *, settings: Mapping[str, object] | None = None
) -> AsyncIterator[OpenAiWorld]:
    """Leaving it ends every process of it."""
    with openai_api() as api:
        async with running_daemon(root, settings=settings) as daemon, open_client(daemon.paths) as client:
            yield OpenAiWorld(daemon, client, api, wire)
