"""Our agent for OpenAI-compatible APIs and a client that the test writes, talking in one process."""

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import anyio
from acp import Agent, Client, text_block
from acp._transport import memory_transport_pair
from acp.agent.connection import AgentSideConnection
from acp.client.connection import ClientSideConnection
from acp.schema import ImageContentBlock, RequestPermissionResponse

from betcode.agents.openai.agent import OpenAiAgent
from betcode.agents.openai.options import OpenAiOptions
from betcode.wire.acp import extensions
from support.apis.openai.server import OpenAiApi
from support.patience import PATIENCE_S

Answer = Callable[[dict[str, Any]], dict[str, Any] | None]  # None: never answered

ALLOW: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": "allow"}}
KEY = "sk-secret-key"
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
class Conversation:
    """A client's side of one connection; `session_id` once a conversation was begun or resumed."""

    connection: ClientSideConnection
    watcher: Watcher
    root: Path
    session_id: str = ""

    @property
    def project(self) -> Path:
        return self.root / "project"

    async def begin(self, session_id: str = "c0ffee") -> None:
        meta: dict[str, Any] = {extensions.KEY: {"sessionId": session_id}}
        made = await self.connection.new_session(str(self.project), mcp_servers=[], **meta)
        self.session_id = made.session_id

    async def resume(self, session_id: str = "c0ffee", *, continue_turn: bool = False) -> None:
        meta: dict[str, Any] = {extensions.KEY: {"continueTurn": continue_turn}}
        await self.connection.resume_session(session_id, str(self.project), mcp_servers=[], **meta)
        self.session_id = session_id

    async def prompt(self, text: str, message_id: str = "m1", image: bytes = b"") -> str:
        """Why the turn ended."""
        meta: dict[str, Any] = {extensions.KEY: {"messageId": message_id}}
        blocks: list[Any] = [text_block(text)]
        if image:
            data = base64.b64encode(image).decode()
            blocks.append(ImageContentBlock(type="image", data=data, mime_type="image/png"))
        with anyio.fail_after(PATIENCE_S):
            answer = await self.connection.prompt(self.session_id, blocks, **meta)
        return answer.stop_reason

    async def cancel(self) -> None:
        await self.connection.cancel(self.session_id)


@asynccontextmanager
async def conversation(
    root: Path, api: OpenAiApi | str, wire: str = "responses", watcher: Watcher | None = None, **options: Any
) -> AsyncIterator[Conversation]:
    """One that is greeted, and begun unless there is a transcript. Leaving it drops the agent wherever it is."""
    (root / "project").mkdir(exist_ok=True)
    base_url = api if isinstance(api, str) else api.base_url
    told = OpenAiOptions(root / "transcripts", base_url, wire, "stand-in", "THE_KEY", KEY)
    client = watcher or Watcher()
    ours, theirs = memory_transport_pair()
    async with anyio.create_task_group() as tasks:
        agent = OpenAiAgent(replace(told, **options), tasks)
        async with (
            AgentSideConnection(cast("Agent", agent), theirs, use_unstable_protocol=True),
            ClientSideConnection(cast("Client", client), ours, use_unstable_protocol=True) as connection,
        ):
            await connection.initialize(1)
            found = Conversation(connection, client, root.resolve())
            if not (root / "transcripts").exists():
                await found.begin()
            yield found
        await agent.close()
        tasks.cancel_scope.cancel()
