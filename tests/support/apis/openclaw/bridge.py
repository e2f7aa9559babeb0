"""The bridge as a process, and a client of the Agent Client Protocol that notes what it says."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
from acp import Client, RequestError, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import AllowedOutcome, PromptResponse, RequestPermissionResponse

from support.apis.openclaw.process import StandIn
from support.patience import PATIENCE_S

Json = dict[str, Any]


class Heard:
    """What came, in order: updates and our extensions as (kind, what)."""

    def __init__(self) -> None:
        self.news: list[tuple[str, Any]] = []
        self._came = anyio.Event()
        self._answer = ""  # to all that is asked
        self._answered = anyio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002
        self._note(update.session_update, update)

    async def request_permission(self, session_id: str, tool_call: Any, **_: Any) -> Any:  # noqa: ARG002
        self._note("permission", tool_call)
        await self._answered.wait()
        outcome = AllowedOutcome(outcome="selected", option_id=self._answer)
        return RequestPermissionResponse(outcome=outcome)

    async def ext_notification(self, method: str, params: Json) -> None:
        self._note(method, params)

    def answer(self, option_id: str) -> None:
        self._answer = option_id
        self._answered.set()

    def on_connect(self, conn: Any) -> None:
        """Nothing to be done."""

    @property
    def text(self) -> str:
        return "".join(what.content.text for kind, what in self.news if kind == "agent_message_chunk")

    @property
    def kinds(self) -> list[str]:
        return [f"turn {what['state']}" if kind == "betcode/turn" else kind for kind, what in self.news]

    async def until(self, kind: str, times: int = 1) -> Any:
        with anyio.fail_after(PATIENCE_S):
            while self.kinds.count(kind) < times:
                await self._came.wait()
        return [what for (_, what), each in zip(self.news, self.kinds, strict=True) if each == kind][times - 1]

    def _note(self, kind: str, what: Any) -> None:
        self.news.append((kind, what))
        self._came.set()
        self._came = anyio.Event()


class Talk:
    def __init__(self, connection: ClientSideConnection, heard: Heard, pid: int) -> None:
        self.heard = heard
        self.pid = pid
        self.session_id = ""
        self._connection = connection

    async def new(self, cwd: Path, **ours: str) -> str:
        await self._connection.initialize(protocol_version=1)
        self.session_id = (await self._connection.new_session(str(cwd), mcp_servers=[], betcode=ours)).session_id
        return self.session_id

    async def load(self, cwd: Path, session_id: str) -> None:
        await self._connection.initialize(protocol_version=1)
        await self._connection.load_session(str(cwd), session_id, mcp_servers=[])
        self.session_id = session_id

    async def prompt(self, text: str, message_id: str) -> PromptResponse:
        with anyio.fail_after(PATIENCE_S):
            blocks: list[Any] = [text_block(text)]
            return await self._connection.prompt(self.session_id, blocks, betcode={"messageId": message_id})

    async def refused(self, text: str, message_id: str) -> Json:
        """What a prompt is refused with."""
        try:
            await self.prompt(text, message_id)
        except RequestError as refused:
            return cast("Json", refused.data)["betcode"]  # type: ignore[no-any-return]
        raise AssertionError("it was not refused")

    async def cancel(self) -> None:
        await self._connection.cancel(self.session_id)


@asynccontextmanager
async def bridge(stand_in: StandIn, state: Path, *more: str, within_s: float = 30) -> AsyncIterator[Talk]:
    arguments = ["-I", "-B", "-m", "betcode.agents.openclaw", "--url", stand_in.url, "--state-dir", str(state)]
    arguments += ["--token-file", str(stand_in.token_file), "--within", str(within_s), *more]
    heard = Heard()
    env = {"PATH": os.environ["PATH"], "HOME": str(state)}
    async with spawn_agent_process(cast("Client", heard), sys.executable, *arguments, env=env) as (agent, process):
        yield Talk(agent, heard, process.pid)
