"""Translates the gateway's events of one session into ACP updates. No I/O.

Text and tools come from the `agent` events; `chat` repeats the text, and is used only for the end of a run. A busy
gateway drops deltas, but each event contains the whole text so far, so nothing is lost.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

from betcode.agents.openclaw import tools
from betcode.agents.openclaw.fields import number, part, parts_of, text_of, word
from betcode.agents.openclaw.frames import Event
from betcode.wire.acp.extensions import Trouble, TroubleKind

Json = dict[str, Any]
Update = AgentMessageChunk | AgentThoughtChunk | ToolCallStart | ToolCallProgress
_ENDED_RUNS = 200  # whose late text is recognised
_STEP_UNIT = 1_000_000
_MOST_USD = 1_000_000


@dataclass(frozen=True, slots=True)
class RunUpdate:
    run_id: str
    update: Update


@dataclass(frozen=True, slots=True)
class Began:
    """A new run was seen."""

    run_id: str


@dataclass(frozen=True, slots=True)
class Used:
    """The usage of one call of the model, in the format of our extension."""

    run_id: str
    usage: Json


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    run_id: str
    approval_id: str
    tool_call: ToolCallUpdate


@dataclass(frozen=True, slots=True)
class ApprovalResolved:
    """It was answered, by us or by another client, or it expired."""

    approval_id: str


@dataclass(frozen=True, slots=True)
class Ended:
    run_id: str
    stop_reason: Literal["end_turn", "cancelled", "error"]
    trouble: Trouble | None = None
    is_empty: bool = False  # there was no output: the gateway gave the message to another run


@dataclass(frozen=True, slots=True)
class MessageStored:
    """The gateway has stored a message of this number; everything up to it was sent."""

    seq: int


News = RunUpdate | Began | Used | ApprovalRequested | ApprovalResolved | Ended | MessageStored


@dataclass(slots=True)
class _Run:
    item: str = ""  # the message that is being sent
    shown: str = ""  # of it
    last: str = ""  # the message before
    thought: str = ""
    has_spoken: bool = False
    recalled_ms: int = 0  # earlier text was sent from the gateway's history
    tools: dict[str, bool] = field(default_factory=dict)  # by id: whether it has ended
    partial: ToolCallProgress | None = None  # the last output of a running command


class Translation:
    """Translates the events of one session, in order, into updates for a client."""

    def __init__(self, key: str, cwd: str) -> None:
        self._key = key
        self._cwd = cwd
        self._runs: dict[str, _Run] = {}
        self._ended: deque[str] = deque(maxlen=_ENDED_RUNS)
        self._kept = 0  # the number of the last stored message
        self._delegated: deque[str] = deque(maxlen=_ENDED_RUNS)  # approvals of sessions that this one started

    def hear(self, event: Event) -> list[News]:
        payload = event.payload
        if event.name in ("exec.approval.requested", "exec.approval.resolved"):
            return self._approval(event.name, payload)
        if payload.get("sessionKey") != self._key:
            return []
        match event.name:
            case "agent" | "session.tool":
                # A connection that did not send the message receives its tools only under the second name.
                return self._agent(payload)
            case "chat":
                return self._chat(payload)
            case "session.message":
                return self._message(payload)
            case "session.approval":
                self._delegated.append(word(part(payload, "approval"), "id"))
                return []
            case _:
                return []

    def asked(self, approval: Mapping[str, Any]) -> list[News]:
        """One approval that waits, as `exec.approval.list` has it."""
        return self._approval("exec.approval.requested", approval)

    def end(self, run_id: str) -> None:
        """Ignore later events of the run."""
        self._runs.pop(run_id, None)
        if run_id not in self._ended:
            self._ended.append(run_id)

    def goes_on(self, run_id: str, moment_ms: int) -> list[News]:
        """Continue an active run whose earlier text was already sent."""
        run, news = self._run(run_id)
        run.recalled_ms = max(run.recalled_ms, moment_ms)
        return news

    def recall(self, entry: Mapping[str, Any], run_id: str) -> list[News]:
        """Translate one stored message, as `chat.history` has it, that was not sent yet."""
        run, news = self._run(run_id)
        stored = part(entry, "__openclaw")
        run.recalled_ms = max(run.recalled_ms, number(stored, "recordTimestampMs"))
        self._kept = max(self._kept, number(stored, "seq"))
        match entry.get("role"):
            case "assistant":
                news += self._stored(run_id, run, entry, {}, is_new=True)
                for call in parts_of(entry):
                    if call.get("type") == "toolCall":
                        news += self._tool_started(run_id, run, word(call, "id"), call, call.get("arguments"))
            case "toolResult":
                call_id = word(entry, "toolCallId")
                news += self._tool_started(run_id, run, call_id, {"name": entry.get("toolName")}, None)
                news += self._tool_ended(run_id, run, call_id, entry, is_error=entry.get("isError") is True)
            case _:
                pass  # people's messages are known
        return [*news, MessageStored(self._kept)]

    def _agent(self, payload: Json) -> list[News]:
        run_id, data = word(payload, "runId"), part(payload, "data")
        if not run_id or run_id in self._ended or payload.get("isHeartbeat") is True:
            return []
        run, news = self._run(run_id)
        if number(payload, "ts") <= run.recalled_ms:
            return news
        match payload.get("stream"):
            case "assistant":
                news += self._text(run_id, run, data)
            case "thinking":
                news += self._thinking(run_id, run, data)
            case "item" if data.get("kind") == "preamble" and data.get("phase") == "end":
                # Text before a tool call. If its deltas were dropped, this is its only occurrence.
                news += self._settle(run_id, run, word(data, "progressText"))
            case "tool":
                news += self._tool(run_id, run, data)
            case "lifecycle":
                news += self._lifecycle(run_id, run, data)
            case _:
                pass
        return news

    def _tool(self, run_id: str, run: _Run, data: Json) -> list[News]:
        call_id = word(data, "toolCallId")
        match data.get("phase"):
            case "start":
                return self._tool_started(run_id, run, call_id, data, data.get("args"))
            case "update" if run.tools.get(call_id) is False:
                progress = tools.progressed(call_id, data.get("partialResult"))
                is_new, run.partial = progress != run.partial, progress
                return [RunUpdate(run_id, progress)] if progress and is_new else []
            case "result":
                return self._tool_ended(run_id, run, call_id, data.get("result"), is_error=data.get("isError") is True)
            case _:
                return []

    def _tool_started(self, run_id: str, run: _Run, call_id: str, named: Mapping[str, Any], args: object) -> list[News]:
        if not call_id or call_id in run.tools:
            return []
        run.tools[call_id] = False
        run.has_spoken = True
        self._close_text(run)
        return [RunUpdate(run_id, tools.started(call_id, word(named, "name") or "tool", args, self._cwd))]

    def _tool_ended(self, run_id: str, run: _Run, call_id: str, result: object, *, is_error: bool) -> list[News]:
        if run.tools.get(call_id) is not False:
            return []  # never begun, or ended before
        run.tools[call_id] = True
        return [RunUpdate(run_id, tools.ended(call_id, result, is_error=is_error))]

    def _lifecycle(self, run_id: str, run: _Run, data: Json) -> list[News]:
        if data.get("phase") not in ("end", "error") or data.get("executionSettled") is not True:
            return []
        if data.get("aborted") is True:
            return self._over(run_id, Ended(run_id, "cancelled"))
        if data.get("phase") == "error":
            return self._over(run_id, Ended(run_id, "error", _trouble(data, word(data, "error"))))
        news = self._settle(run_id, run, word(part(data, "terminalReply"), "text"))
        return [*news, *self._over(run_id, Ended(run_id, _stop(data)))]

    def _chat(self, payload: Json) -> list[News]:
        run_id = word(payload, "runId")
        if not run_id or run_id in self._ended:
            return []
        match payload.get("state"):
            case "final":
                run = self._runs.get(run_id, _Run())
                text = text_of(part(payload, "message"))
                news = self._settle(run_id, run, text) if text and not run.has_spoken else []
                is_empty = not text and not run.has_spoken
                return [*news, *self._over(run_id, Ended(run_id, _stop(payload), is_empty=is_empty))]
            case "aborted":
                return self._over(run_id, Ended(run_id, "cancelled"))
            case "error":
                return self._over(run_id, Ended(run_id, "error", _trouble(payload, word(payload, "errorMessage"))))
            case _:
                return []

    def _over(self, run_id: str, ended: Ended) -> list[News]:
        self.end(run_id)
        return [ended]

    def _message(self, payload: Json) -> list[News]:
        entry = part(payload, "message")
        run_id = word(part(entry, "__openclaw"), "runId")
        seq = number(payload, "messageSeq")
        if seq and seq <= self._kept:
            return []
        news: list[News] = []
        if entry.get("role") == "assistant":
            if run_id and run_id not in self._ended:
                run, news = self._run(run_id)
                news += self._stored(run_id, run, entry, payload, is_new=False)
            else:
                news += _used(run_id, entry, payload)
        self._kept = max(self._kept, seq)
        return [*news, MessageStored(seq)] if seq else news

    def _stored(
        self, run_id: str, run: _Run, entry: Mapping[str, Any], payload: Mapping[str, Any], *, is_new: bool
    ) -> list[News]:
        """Return the text that was not sent yet, and the usage of the call."""
        text, uses_tools = text_of(entry), any(each.get("type") == "toolCall" for each in parts_of(entry))
        news: list[News] = []
        # After a tool's beginning it is the text that led to the tool, which was already sent.
        if text and (is_new or run.shown or not uses_tools):
            news += self._settle(run_id, run, text, is_new=is_new)
            if is_new:
                self._close_text(run)
        return [*news, *_used(run_id, entry, payload)]

    def _text(self, run_id: str, run: _Run, data: Json) -> list[News]:
        item, text, delta = word(data, "itemId"), word(data, "text"), word(data, "delta")
        if item != run.item:
            self._close_text(run)
            run.item = item
        rest = text[len(run.shown) :] if text.startswith(run.shown) else delta
        run.shown = text or run.shown + delta
        return self._chunk(run_id, run, rest)

    def _settle(self, run_id: str, run: _Run, text: str, *, is_new: bool = False) -> list[News]:
        """Complete the message that is being sent, or a message that was not sent yet."""
        if is_new and not text.startswith(run.shown):
            self._close_text(run)
        if not text or text == run.shown or not text.startswith(run.shown) or (text == run.last and not is_new):
            return []
        rest = text[len(run.shown) :]
        run.shown = text
        return self._chunk(run_id, run, rest)

    def _chunk(self, run_id: str, run: _Run, text: str) -> list[News]:
        if not text:
            return []
        run.has_spoken = True
        block = TextContentBlock(type="text", text=text)
        chunk = AgentMessageChunk(session_update="agent_message_chunk", content=block)
        if run.item:
            chunk.message_id = run.item
        return [RunUpdate(run_id, chunk)]

    def _close_text(self, run: _Run) -> None:
        if run.shown:
            run.last = run.shown
        run.item, run.shown, run.thought = "", "", ""

    def _thinking(self, run_id: str, run: _Run, data: Json) -> list[News]:
        text, delta = word(data, "text"), word(data, "delta")
        rest = text[len(run.thought) :] if text.startswith(run.thought) else delta
        run.thought = text or run.thought + delta
        if not rest:
            return []
        block = TextContentBlock(type="text", text=rest)
        return [RunUpdate(run_id, AgentThoughtChunk(session_update="agent_thought_chunk", content=block))]

    def _approval(self, name: str, payload: Mapping[str, Any]) -> list[News]:
        approval_id, asked = word(payload, "id"), part(payload, "request")
        if asked.get("sessionKey") != self._key and approval_id not in self._delegated:
            return []
        if name == "exec.approval.resolved":
            return [ApprovalResolved(approval_id)]
        run_id, call_id = word(asked, "runId"), word(asked, "toolCallId")
        call = tools.to_be_allowed(call_id or approval_id, word(asked, "command"), word(asked, "cwd"))
        return [ApprovalRequested(run_id, approval_id, call)]

    def _run(self, run_id: str) -> tuple[_Run, list[News]]:
        if run_id in self._runs:
            return self._runs[run_id], []
        self._runs[run_id] = _Run()
        return self._runs[run_id], [Began(run_id)]


def _used(run_id: str, entry: Mapping[str, Any], payload: Mapping[str, Any]) -> list[News]:
    usage = part(entry, "usage")
    read, written = number(usage, "cacheRead"), number(usage, "cacheWrite")
    given, made = number(usage, "input"), number(usage, "output")
    if not (read or written or given or made):
        return []
    told: Json = {
        "inputTokens": given,
        "outputTokens": made,
        "cachedReadTokens": read,
        "cachedWriteTokens": written,
        "contextTokens": given + read + written,
    }
    cost = part(usage, "cost").get("total")
    if isinstance(cost, int | float) and 0 <= cost < _MOST_USD:  # infinity and NaN are not valid
        told["costUsd"] = round(cost * _STEP_UNIT) / _STEP_UNIT
    if model := word(entry, "model"):
        told["model"] = model
    if size := number(payload, "contextTokens"):
        told["contextSize"] = size
    return [Used(run_id, told)]


def _stop(data: Mapping[str, Any]) -> Literal["end_turn", "cancelled"]:
    return "cancelled" if data.get("aborted") is True else "end_turn"


# In which words the gateway says why a model did not answer. `auth` is left out: to the engine it means that the
# program cannot work at all, and here one model refuses where another may not.
_KINDS: Mapping[str, TroubleKind] = {
    "rate_limit": "rate_limit",
    "billing": "rate_limit",
    "overloaded": "overload",
    "context_overflow": "context",
}


def _trouble(told: Mapping[str, Any], message: str) -> Trouble:
    detail = part(told, "errorDetail") or part(told, "errorObservation")
    kind: TroubleKind = _KINDS.get(word(detail, "failoverReason"), "error")
    return {"kind": kind, "message": message or "the gateway's run failed"}
