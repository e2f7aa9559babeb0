"""A daemon, the real CLI and the stand-in for the model, and sessions in it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.client import Client, NewConversation, open_client
from support.apis.messages.script import Scripts
from support.apis.messages.server import ModelApi, model_api
from support.daemon.process import Daemon, running_daemon
from support.daemon.runs import RunOnDisk, runs_in
from support.daemon.session import Talk
from support.providers.claude import CLAUDE, claude_environment


@dataclass(frozen=True, slots=True)
class World:
    daemon: Daemon
    client: Client
    api: ModelApi
    environment: Mapping[str, str]

    @property
    def work(self) -> Path:
        """The directory that sessions work in."""
        return self.daemon.work

    @property
    def runs(self) -> list[RunOnDisk]:
        return runs_in(self.daemon.paths.runs)

    async def session(
        self,
        *,
        model: str = "",
        allowed_tools: tuple[str, ...] = (),
        plan_mode: bool = False,
        directory: Path | None = None,
        **environment: str,
    ) -> Talk:
        """A new session with the real CLI; nothing runs before something is said."""
        new = NewConversation(
            working_directory=str(directory or self.work),
            provider="claude",
            model=model,
            allowed_tools=allowed_tools,
            plan_mode=plan_mode,
            environment={**self.environment, **environment},
        )
        return Talk(self.client, await self.client.start_session(new))

    async def model_called(self, script: str, number: int) -> None:
        await anyio.to_thread.run_sync(self.api.wait_for_calls, script, number)


@asynccontextmanager
async def claude_world(
    root: Path,
    scripts: Scripts,
    *,
    settings: Mapping[str, object] | None = None,
    retries: int = 1,
    program: Path | None = CLAUDE,
) -> AsyncIterator[World]:
    """Everything for a live test; leaving it ends every process of it."""
    with model_api(scripts) as api:
        async with (
            running_daemon(root, settings=settings, claude_bin=program) as daemon,
            open_client(daemon.paths) as client,
        ):
            yield World(daemon, client, api, claude_environment(root / "agent-home", api.url, retries=retries))


@asynccontextmanager
async def demo_sessions(
    root: Path, *, settings: Mapping[str, object] | None = None
) -> AsyncIterator[tuple[Daemon, Client]]:
    """A daemon without any CLI, and a client of it."""
    async with running_daemon(root, settings=settings) as daemon, open_client(daemon.paths) as client:
        yield daemon, client


async def demo_talk(daemon: Daemon, client: Client, **directions: object) -> Talk:
    """A session of the demo agent; `speed=0`, `flood=100` and the like direct it."""
    environment = {f"BETCODE_DEMO_{name.upper()}": str(value) for name, value in directions.items()}
    new = NewConversation(
        working_directory=str(daemon.work),
        provider="demo",
        environment={"PATH": "/usr/bin:/bin", "HOME": str(daemon.root / "home"), **environment},
    )
    return Talk(client, await client.start_session(new))


async def obedient_talk(daemon: Daemon, client: Client, **environment: str) -> Talk:
    """A session of the agent that does what the prompt says."""
    new = NewConversation(str(daemon.work), provider="claude", environment=daemon.environment | environment)
    return Talk(client, await client.start_session(new))
