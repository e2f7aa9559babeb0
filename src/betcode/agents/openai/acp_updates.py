"""Sends the updates of one conversation to the client, in the Agent Client Protocol."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from acp.helpers import text_block, tool_content, tool_diff_content
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    PermissionOption,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

from betcode.agents.openai.model_call import PauseKind
from betcode.agents.openai.text import all_whole
from betcode.agents.openai.tools.plans import Plan, Result
from betcode.agents.openai.wires import TokenUsage
from betcode.wire.acp import extensions

if TYPE_CHECKING:
    from acp.interfaces import Client

_ALLOW, _REJECT = "allow", "reject"
_OPTIONS = [
    PermissionOption(option_id=_ALLOW, name="Allow", kind="allow_once"),
    PermissionOption(option_id=_REJECT, name="Reject", kind="reject_once"),
]


@dataclass(frozen=True, slots=True)
class Permission:
    """The answer of a person or a rule."""

    is_allowed: bool
    message: str = ""
    input: Mapping[str, Any] | None = None  # to be used instead


class Withdrawn(Exception):
    """The question was cancelled, and the turn with it."""


class Voice:
    def __init__(self, client: "Client", session_id: str) -> None:
        self._client = client
        self._session_id = session_id

    async def text(self, text: str, message_id: str) -> None:
        chunk = AgentMessageChunk(session_update="agent_message_chunk", content=text_block(text), message_id=message_id)
        await self._client.session_update(self._session_id, chunk)

    async def thought(self, text: str, message_id: str) -> None:
        chunk = AgentThoughtChunk(session_update="agent_thought_chunk", content=text_block(text), message_id=message_id)
        await self._client.session_update(self._session_id, chunk)

    # ---------------------------------------------------------------- tools

    async def tool(self, tool_id: str, plan: Plan) -> None:
        """Report a tool call."""
        update = ToolCallStart(
            session_update="tool_call",
            tool_call_id=tool_id,
            title=plan.title[:200],
            kind=plan.kind,
            status="pending",
            raw_input=dict(plan.shown),
            locations=[ToolCallLocation(path=plan.path)] if plan.path else None,
            field_meta=_named(plan),
        )
        await self._client.session_update(self._session_id, update)

    async def unfit_tool(self, tool_id: str, name: str, arguments: str) -> None:
        """Report a tool call that cannot be executed as requested."""
        update = ToolCallStart(
            session_update="tool_call",
            tool_call_id=tool_id,
            title=name[:200],
            kind="other",
            status="pending",
            raw_input=_readable(arguments),
            field_meta={extensions.KEY: {"toolName": name[:200]}},
        )
        await self._client.session_update(self._session_id, update)

    async def running(self, tool_id: str, plan: Plan) -> None:
        update = ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=tool_id,
            status="in_progress",
            raw_input=dict(plan.shown),
            field_meta=_named(plan),
        )
        await self._client.session_update(self._session_id, update)

    async def done(self, tool_id: str, result: Result) -> None:
        content: list[Any] = [tool_content(text_block(result.text))]
        if result.diff is not None:
            content.append(tool_diff_content(result.diff.path, result.diff.new, result.diff.old))
        update = ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=tool_id,
            status="failed" if result.is_error else "completed",
            content=content,
        )
        await self._client.session_update(self._session_id, update)

    async def ask(self, tool_id: str, plan: Plan) -> Permission:
        """Wait for a decision.

        Raises:
            Withdrawn
        """
        call = ToolCallUpdate(
            tool_call_id=tool_id,
            title=plan.title[:200],
            kind=plan.kind,
            status="pending",
            raw_input=dict(plan.shown),
            field_meta=_named(plan),
        )
        answer = await self._client.request_permission(self._session_id, call, _OPTIONS)
        if answer.outcome.outcome != "selected":
            raise Withdrawn
        said = _ours(answer.field_meta)
        message, instead = said.get("message"), said.get("input")
        return Permission(
            answer.outcome.option_id == _ALLOW,
            message if isinstance(message, str) else "",
            instead if isinstance(instead, dict) else None,
        )

    # ---------------------------------------------------------------- beyond the protocol

    async def turn_started(self) -> None:
        await self._news(extensions.TURN, extensions.turn_started(self._session_id))

    async def turn_ended(self, stop_reason: extensions.StopReason, error: extensions.Trouble | None = None) -> None:
        await self._news(extensions.TURN, extensions.turn_ended(self._session_id, stop_reason, error))

    async def usage(self, usage: TokenUsage, model: str, context_size: int) -> None:
        news: extensions.UsageNews = {
            "sessionId": self._session_id,
            "inputTokens": max(0, usage.input_tokens - usage.cached_tokens),
            "outputTokens": usage.output_tokens,
            "cachedReadTokens": usage.cached_tokens,
            "model": model,
            "contextTokens": usage.input_tokens + usage.output_tokens,
            "contextSize": context_size,
        }
        await self._news(extensions.USAGE, news)

    async def pause(self, kind: PauseKind, until_ms: int) -> None:
        news: extensions.PauseNews = {"sessionId": self._session_id, "kind": kind}
        if until_ms:
            news["untilMs"] = until_ms
        await self._news(extensions.PAUSE, news)

    async def compacted(self, before: int, after: int) -> None:
        news: extensions.CompactionNews = {
            "sessionId": self._session_id,
            "trigger": "auto",
            "tokensBefore": before,
            "tokensAfter": after,
        }
        await self._news(extensions.COMPACTION, news)

    async def notice(self, message: str) -> None:
        await self._news(extensions.NOTICE, extensions.NoticeNews(sessionId=self._session_id, message=message))

    async def _news(self, method: str, news: object) -> None:
        await self._client.ext_notification(method.removeprefix("_"), cast("dict[str, Any]", news))


def _named(plan: Plan) -> dict[str, Any]:
    return {extensions.KEY: {"toolName": plan.name}}


def _ours(meta: Mapping[str, Any] | None) -> Mapping[str, Any]:
    ours = (meta or {}).get(extensions.KEY)
    return ours if isinstance(ours, dict) else {}


def _readable(arguments: str) -> dict[str, Any]:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return {"arguments": arguments[:2000]}
    return all_whole(value) if isinstance(value, dict) else {"arguments": arguments[:2000]}
