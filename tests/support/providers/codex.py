"""The real `codex app-server` out of its npm package, the stand-in for its model, and sessions of it."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from betcode.client import Client, NewConversation, open_client
from betcode.domain.runs.journal_record import RecordKind
from betcode.providers.codex.executable import find_binary
from support.apis.openai.server import ApiRequest, OpenAiApi, openai_api
from support.daemon.process import Daemon, running_daemon
from support.daemon.runs import RunOnDisk, runs_in
from support.daemon.session import Talk
from support.providers.npm import npm_agent

PACKAGE = "@openai/codex@0.166.0"
KEY = "not-a-real-key-but-a-secret"
KEY_VARIABLE = "LAB_MODEL_ACCESS"  # which nobody would take for a key by its name

_CONFIG = """
model = "gpt-5.5"
model_provider = "lab"
check_for_update_on_startup = false
[model_providers.lab]
name = "lab"
base_url = "{base_url}"
env_key = "{key_variable}"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
"""


def codex_launcher() -> Path:
    """What npm puts on a PATH. Skips the test where it cannot be had."""
    return npm_agent("codex", PACKAGE) / "node_modules" / ".bin" / "codex"


def codex_binary() -> Path:
    """The native program. Skips the test where it cannot be had."""
    return find_binary(str(codex_launcher()), {})


def codex_environment(home: Path, base_url: str) -> dict[str, str]:
    """Nothing but what Codex needs to talk to the stand-in: no account, no other network, no state but in `home`."""
    (home / ".codex").mkdir(parents=True, exist_ok=True)
    (home / ".codex" / "config.toml").write_text(_CONFIG.format(base_url=base_url, key_variable=KEY_VARIABLE))
    return {
        "PATH": f"{codex_launcher().parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        KEY_VARIABLE: KEY,
    }


@dataclass(frozen=True, slots=True)
class CodexWorld:
    daemon: Daemon
    client: Client
    api: OpenAiApi
    environment: Mapping[str, str]

    def runs(self, directory: Path) -> list[RunOnDisk]:
        """Those of the sessions that work there, the oldest first."""
        return [run for run in runs_in(self.daemon.paths.runs) if _directory_of(run) == str(directory)]

    def requests(self, directory: Path) -> list[ApiRequest]:
        """What the model was asked by the sessions that work there: Codex tells it where it is."""
        return [each for each in self.api.requests if str(directory) in json.dumps(each.body)]

    async def session(
        self,
        directory: Path | None = None,
        *,
        model: str = "",
        plan_mode: bool = False,
        config: Mapping[str, str] | None = None,
        allowed_tools: tuple[str, ...] = (),
        **environment: str,
    ) -> Talk:
        """A new session of Codex; nothing runs before something is said."""
        new = NewConversation(
            working_directory=str(directory or self.daemon.work),
            provider="codex",
            model=model,
            plan_mode=plan_mode,
            allowed_tools=allowed_tools,
            metadata={f"provider_config.{name}": value for name, value in (config or {}).items()},
            environment={**self.environment, **environment},
        )
        return Talk(self.client, await self.client.start_session(new))


def _directory_of(run: RunOnDisk) -> str:
    start = next(record for record in run.records() if record.kind is RecordKind.START)
    return str(json.loads(start.data)["cwd"])


@asynccontextmanager
async def codex_world(root: Path, *, settings: Mapping[str, object] | None = None) -> AsyncIterator[CodexWorld]:
    """Everything for a test with the real Codex; leaving it ends every process of it."""
    codex_binary()
    with openai_api() as api:
        async with running_daemon(root, settings=settings) as daemon, open_client(daemon.paths) as client:
            yield CodexWorld(daemon, client, api, codex_environment(root / "agent-home", api.base_url))
