"""The real opencode out of its npm package, the stand-in for its model, and sessions of it."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from betcode.client import Client, NewConversation, open_client
from support.apis.openai.server import OpenAiApi, openai_api
from support.daemon.process import Daemon, running_daemon
from support.daemon.runs import runs_in
from support.daemon.session import Talk
from support.plugins.requirements import absent
from support.providers.npm import npm_agent

PACKAGE = "opencode-ai@1.18.33"
MODEL = "lab/fake-model"


def opencode_program() -> Path:
    """The program for this machine; what npm links needs a script to be run first. Skips where it cannot be had."""
    found = sorted((npm_agent("opencode", PACKAGE) / "node_modules").glob("opencode-*-*/bin/opencode"))
    if not found:
        absent("opencode", f"{PACKAGE} has no program for this machine")
    return found[-1]  # the one that needs no newer processor, where there are two


def opencode_environment(home: Path, base_url: str) -> dict[str, str]:
    """Nothing but what opencode needs to talk to the stand-in: no account, no other network, no state but in `home`."""
    models = {"fake-model": {"name": "Fake", "limit": {"context": 128_000, "output": 8192}}}
    lab = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": base_url, "apiKey": "none"}, "models": models}
    config = {"model": MODEL, "small_model": MODEL, "provider": {"lab": lab}, "autoupdate": False, "share": "disabled"}
    place = home / ".config" / "opencode"
    place.mkdir(parents=True, exist_ok=True)
    (place / "opencode.json").write_text(json.dumps(config))
    switches = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "PROJECT_CONFIG")
    return {
        "PATH": f"{opencode_program().parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        **{f"OPENCODE_DISABLE_{name}": "1" for name in switches},
    }


@dataclass(frozen=True, slots=True)
class OpencodeWorld:
    daemon: Daemon
    client: Client
    api: OpenAiApi
    environment: Mapping[str, str]

    @property
    def work(self) -> Path:
        return self.daemon.work

    @property
    def agent_pid(self) -> int:
        """Of the newest agent."""
        return runs_in(self.daemon.paths.runs)[-1].agent_pid

    async def session(self, *, model: str = "", plan_mode: bool = False) -> Talk:
        """A new session of opencode; nothing runs before something is said."""
        new = NewConversation(
            working_directory=str(self.work),
            provider="opencode",
            model=model,
            plan_mode=plan_mode,
            environment=self.environment,
        )
        return Talk(self.client, await self.client.start_session(new))

    async def model_called(self, number: int) -> None:
        await anyio.to_thread.run_sync(self.api.wait_for_requests, number)


@asynccontextmanager
async def opencode_world(root: Path, *, settings: Mapping[str, object] | None = None) -> AsyncIterator[OpencodeWorld]:
    """Everything for a test with the real opencode; leaving it ends every process of it."""
    opencode_program()
    with openai_api() as api:
        async with running_daemon(root, settings=settings) as daemon, open_client(daemon.paths) as client:
            yield OpencodeWorld(daemon, client, api, opencode_environment(root / "agent-home", api.base_url))
