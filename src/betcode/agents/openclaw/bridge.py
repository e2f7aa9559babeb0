"""The bridge as an ACP agent: one session, its prompts, and its end."""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from acp import PROTOCOL_VERSION, Client, RequestError
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    EmbeddedResourceContentBlock,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from betcode._version import __version__
from betcode.agents.openclaw.conversation import GatewayConversation, trouble_of
from betcode.agents.openclaw.frames import NO_SUCH_SESSION, GatewayError
from betcode.agents.openclaw.link import Link, Lost, Patience, Refused, Unreachable
from betcode.agents.openclaw.marks import Mark
from betcode.agents.openclaw.options import BridgeOptions
from betcode.agents.openclaw.reconnect import ReconnectingLink
from betcode.agents.openclaw.translation import ApprovalRequested, Ended, Update
from betcode.wire.acp.extensions import KEY, NOTICE, TURN, USAGE, AgentSays, Trouble, turn_ended, turn_started

logger = logging.getLogger(__name__)

_FAILED, _AUTH_REQUIRED, _UNKNOWN = -32603, -32000, -32002
_LAST_WORDS_S = 2.0
_ALLOW, _DENY = "allow-once", "deny"
_CHOICES = (
    PermissionOption(option_id=_ALLOW, name="Allow once", kind="allow_once"),
    PermissionOption(option_id=_DENY, name="Deny", kind="reject_once"),
)


class Bridge:
    """Implements the agent's side of the protocol for one session of the gateway."""

    def __init__(self, options: BridgeOptions, tasks: asyncio.TaskGroup, say: Callable[[str], None]) -> None:
        self._options = options
        self._tasks = tasks
        self._say = say
        self._client: Client | None = None
        self._conversation: GatewayConversation | None = None
        self._keeper: ReconnectingLink | None = None
        self._one_at_a_time = asyncio.Lock()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,  # noqa: ARG002 there is only the one
        client_capabilities: ClientCapabilities | None = None,  # noqa: ARG002 the client's files are not used
        client_info: Implementation | None = None,  # noqa: ARG002
        **_: Any,
    ) -> InitializeResponse:
        says: AgentSays = {"recognisesRepeats": True, "continuesTurn": True}
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="openclaw", title="OpenClaw", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(embedded_context=True),
                field_meta={KEY: says},
            ),
        )

    async def new_session(self, cwd: str, *_: Any, **meta: Any) -> NewSessionResponse:
        model = str(_ours(meta).get("model") or "")
        conversation = await self._begin(cwd, "", model)
        return NewSessionResponse(session_id=conversation.key)

    async def load_session(self, cwd: str, session_id: str, *_: Any, **__: Any) -> LoadSessionResponse:
        await self._begin(cwd, session_id, "")
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **meta: Any) -> PromptResponse:
        conversation = self._of(session_id)
        message_id = str(_ours(meta).get("messageId") or uuid.uuid4())
        async with self._one_at_a_time:  # the gateway would mix a second message into the run of the first
            try:
                ended = await conversation.converse(message_id, _text(prompt))
            except Unreachable as missing:
                raise _failed(trouble_of(missing)) from None
        if ended.stop_reason == "error":
            raise _failed(ended.trouble or {"kind": "error"})
        return PromptResponse(stop_reason=ended.stop_reason)

    async def cancel(self, session_id: str, **_: Any) -> None:
        await self._of(session_id).cancel()

    async def stop(self) -> None:
        """Whoever ends the bridge on purpose ends the run as well; a bridge that dies ends none."""
        conversation, keeper = self._conversation, self._keeper
        run_id = conversation.active_run if conversation else None
        link = keeper.now if keeper else None
        if conversation is None or link is None or run_id is None:
            return
        which = {"runId": run_id} if run_id else {}
        with contextlib.suppress(Lost, Refused):
            await link.call("chat.abort", _LAST_WORDS_S, sessionKey=conversation.key, **which)

    # ------------------------------------------------------------ the session

    async def _begin(self, cwd: str, key: str, model: str) -> GatewayConversation:
        if self._conversation is not None or self._keeper is not None:
            raise RequestError(_FAILED, "A bridge serves one session: start another bridge")
        options = self._options
        if isinstance(options.address, str):
            raise RequestError(_AUTH_REQUIRED, options.address)
        keeper = self._keeper = ReconnectingLink(
            options.address, Patience(options.within_s, self._say, options.hopeless)
        )

        async def take_up(link: Link) -> None:
            if self._conversation is None:
                found = await self._found(link, key, cwd, model)
                self._conversation = self._made(found, cwd, keeper)
            await self._conversation.take_up(link)

        async def attend(link: Link) -> None:
            if self._conversation is not None:
                await self._conversation.attend(link)

        async def lost(why: Unreachable | None) -> None:
            if self._conversation is not None:
                await self._conversation.lost(why)

        self._tasks.create_task(keeper.keep(take_up, attend, lost), name="gateway")
        try:
            await keeper.link()
        except Unreachable as missing:
            if missing.is_auth:
                raise RequestError(_AUTH_REQUIRED, str(missing)) from None
            is_unknown = missing.error is not None and missing.error.code == NO_SUCH_SESSION
            raise RequestError(_UNKNOWN if is_unknown else _FAILED, str(missing)) from None
        assert self._conversation is not None
        return self._conversation

    async def _found(self, link: Link, key: str, cwd: str, model: str) -> str:
        """Return the key of the session: a new one, or the one to resume."""
        if key:
            told = await link.call("sessions.describe", key=key)
            if not isinstance(told, dict) or not told.get("session"):
                raise Refused(GatewayError(NO_SUCH_SESSION, f"it has no session {key!r}"))
            return key
        params = {"cwd": cwd, "permissionMode": self._options.permission_mode}
        told = await link.call("sessions.create", **(params | {"model": model} if model else params))
        made = told.get("key") if isinstance(told, dict) else None
        if not isinstance(made, str) or not made:
            raise Refused(GatewayError("", "it created a session without a key"))
        return made

    def _made(self, key: str, cwd: str, keeper: ReconnectingLink) -> GatewayConversation:
        assert self._client is not None
        host, places = _Host(self._client, key), self._options.places
        mark = Mark(places.shown if places else None, key)
        return GatewayConversation(key, cwd, mark, host, keeper, self._start_soon, self._options.within_s)

    def _start_soon(self, work: Coroutine[Any, Any, None]) -> object:
        return self._tasks.create_task(_surely(work))

    def _of(self, session_id: str) -> GatewayConversation:
        if self._conversation is None or self._conversation.key != session_id:
            raise RequestError(_UNKNOWN, "This bridge has no such session")
        return self._conversation


class _Host:
    """The client, for one session."""

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self._session_id = session_id

    async def update(self, update: Update) -> None:
        await self._client.session_update(self._session_id, update)

    async def used(self, usage: dict[str, Any]) -> None:
        await self._notify(USAGE, {"sessionId": self._session_id, **usage})

    async def notice(self, message: str) -> None:
        await self._notify(NOTICE, {"sessionId": self._session_id, "message": message})

    async def turn_started(self) -> None:
        await self._notify(TURN, dict(turn_started(self._session_id)))

    async def turn_ended(self, ended: Ended) -> None:
        await self._notify(TURN, dict(turn_ended(self._session_id, ended.stop_reason, ended.trouble)))

    async def may(self, asked: ApprovalRequested) -> bool:
        """Return whether it is allowed; no answer means no."""
        try:
            answer = await self._client.request_permission(self._session_id, asked.tool_call, list(_CHOICES))
        except (RequestError, ConnectionError) as refused:
            logger.warning("no client answers the agent's question: %s", refused)
            return False
        return getattr(answer.outcome, "option_id", "") == _ALLOW

    async def _notify(self, method: str, params: dict[str, Any]) -> None:
        await self._client.ext_notification(method[1:], params)


async def _surely(work: Coroutine[Any, Any, None]) -> None:
    """Run a background task; its failure is logged and affects nothing else."""
    try:
        await work
    except Exception:
        logger.exception("a background task failed")


def _failed(trouble: Trouble) -> RequestError:
    return RequestError(_FAILED, trouble.get("message", "The turn failed"), {KEY: trouble})


def _ours(meta: dict[str, Any]) -> dict[str, Any]:
    ours = meta.get(KEY)
    return ours if isinstance(ours, dict) else {}


def _text(blocks: list[Any]) -> str:
    """The gateway takes text; files of text become part of it."""
    parts: list[str] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                parts.append(text)
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                parts.append(f'<file path="{uri}">\n{text}\n</file>')
            case ResourceContentBlock(uri=uri):
                parts.append(uri)
            case _:
                logger.warning("a message has a part that the gateway is not given: %s", type(block).__name__)
    return "\n\n".join(parts)
