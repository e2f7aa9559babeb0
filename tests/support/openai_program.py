"""Our agent program for OpenAI-compatible APIs, run by itself with a client that the test writes."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
from acp import Client, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import RequestPermissionResponse

from betcode.wire.acp import extensions
from support.openai_api import OpenAiApi
from support.patience import PATIENCE_S

Answer = Callable[[dict[str, Any]], dict[str, Any] | None]  # None: never answered

ALLOW: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": "allow"}}
REJECT: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": "reject"}}


@dataclass
class Watcher:
    """A client that keeps what it hears and answers as it is told to."""

    answer: Answer = field(default=lambda _: ALLOW)
    updates: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    news: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _changed: anyio.Event = field(default_factory=anyio.Event)

    async def session_update(self, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))
        self._ring()

    async def request_permission(self, tool_call: Any, **_: Any) -> RequestPermissionResponse:
        asked = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.asked.append(asked)
        self._ring()
        answer = self.answer(asked)
        if answer is None:
            await anyio.sleep_forever()
        return RequestPermissionResponse.model_validate(answer)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.news.append((f"_{method}", params))
        self._ring()

    def on_connect(self, conn: object) -> None:
        """Nothing to remember."""

    async def until(self, wanted: Callable[["Watcher"], object]) -> None:
        with anyio.fail_after(PATIENCE_S):
            while not wanted(self):
                await self._changed.wait()

    def _ring(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    # ---------------------------------------------------------------- what was heard

    @property
    def text(self) -> str:
        return "".join(each["content"]["text"] for each in self.of("agent_message_chunk"))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self.updates if each["sessionUpdate"] == kind]

    @property
    def results(self) -> list[tuple[str, str]]:
        """How each tool ended, and its words for the model."""
        ended = [each for each in self.of("tool_call_update") if each["status"] in ("completed", "failed")]
        return [(each["status"], each["content"][0]["content"]["text"]) for each in ended]

    def news_of(self, method: str) -> list[dict[str, Any]]:
        return [params for name, params in self.news if name == method]


@dataclass
class Program:
    """One process of it; `session_id` once a conversation was begun or resumed."""

    connection: ClientSideConnection
    process: Any
    watcher: Watcher
    project: Path
    session_id: str = ""

    async def begin(self, session_id: str = "c0ffee") -> None:
        meta: dict[str, Any] = {extensions.KEY: {"sessionId": session_id}}
        made = await self.connection.new_session(str(self.project), mcp_servers=[], **meta)
        self.session_id = made.session_id

    async def resume(self, session_id: str = "c0ffee", *, continue_turn: bool = False) -> None:
        meta: dict[str, Any] = {extensions.KEY: {"continueTurn": continue_turn}}
        await self.connection.resume_session(session_id, str(self.project), mcp_servers=[], **meta)
        self.session_id = session_id

    async def prompt(self, text: str, message_id: str = "m1") -> str:
        meta: dict[str, Any] = {extensions.KEY: {"messageId": message_id}}
        with anyio.fail_after(PATIENCE_S):
            answer = await self.connection.prompt(self.session_id, [text_block(text)], **meta)
        return answer.stop_reason

    async def cancel(self) -> None:
        await self.connection.cancel(self.session_id)


@asynccontextmanager
async def openai_program(
    root: Path,
    api: OpenAiApi | str,
    wire: str,
    *flags: str,
    watcher: Watcher | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Program]:
    """A process that has been greeted; it is gone when the block ends."""
    project = root / "project"
    project.mkdir(exist_ok=True)
    base_url = api if isinstance(api, str) else api.base_url
    argv = ["-I", "-m", "betcode.agents.openai", "--transcripts", str(root / "transcripts"), "--base-url", base_url]
    argv += ["--wire", wire, "--model", "stand-in", "--key-variable", "THE_KEY", *flags]
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "THE_KEY": "sk-secret-key", **(environment or {})}
    client = watcher or Watcher()
    async with spawn_agent_process(
        cast("Client", client), sys.executable, *argv, env=env, cwd=str(project), use_unstable_protocol=True
    ) as (connection, process):
        with anyio.fail_after(PATIENCE_S):
            await connection.initialize(1)
        yield Program(connection, process, client, project.resolve())
