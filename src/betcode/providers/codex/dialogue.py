"""The dialogue with `codex app-server`: translates its records, in journal order, into events. No I/O, no clock."""

import logging
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

from betcode.domain.agents.commands import Errand
from betcode.domain.agents.dialogue_view import DialogueView
from betcode.domain.agents.provider_config import provider_config
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.values.text import shortened, without_escapes
from betcode.providers import malformed
from betcode.providers.codex import commands, frames, handshake, items, oversized, prompts, turns
from betcode.providers.codex.advice import failure_in
from betcode.providers.codex.event_builder import CodexEventBuilder
from betcode.providers.codex.launch import INITIALIZE_ID, MODELS_ID
from betcode.providers.codex.state import VERSION, State, dump, load
from betcode.providers.dialogue_base import DialogueBase
from betcode.v1 import agent_pb2 as v1
from betcode.wire import Malformed

logger = logging.getLogger(__name__)

_MCP_SERVERS = 200
# What Codex writes to stderr at every start, and of tools whose results say the same.
_NOISE = re.compile(r"could not create PATH aliases|could not find bubblewrap|codex_core::tools::router")
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]{8,20}Z\s+")
_failure_in = lru_cache(maxsize=64)(failure_in)  # asked for every view, mostly about the same few lines

Handler = Callable[[Any, CodexEventBuilder], None]


def _on_warning(news: frames.Warned, builder: CodexEventBuilder) -> None:
    if news.message:
        builder.notice(v1.NOTICE_KIND_AGENT, shortened(news.message, 4000))


def _on_rerouted(news: frames.Rerouted, builder: CodexEventBuilder) -> None:
    builder.state.model = news.to_model or builder.state.model
    builder.notice(v1.NOTICE_KIND_AGENT, f"The model {news.from_model} is not served: {news.to_model} answers instead")


def _on_mcp(news: frames.McpStatus, builder: CodexEventBuilder) -> None:
    if news.name and builder.state.mcp.get(news.name) != news.status and len(builder.state.mcp) < _MCP_SERVERS:
        builder.state.mcp[shortened(news.name, malformed.EXCERPT)] = shortened(news.status, malformed.EXCERPT)
        if news.status != "starting":
            turns.say_info(builder)


# By method: what its parameters are, and who takes them. Everything else is passed over.
NEWS: Mapping[str, tuple[type, Handler]] = MappingProxyType(
    {
        "turn/started": (frames.TurnNews, turns.on_started),
        "turn/completed": (frames.TurnNews, turns.on_completed),
        "turn/plan/updated": (frames.PlanNews, turns.on_plan),
        "item/started": (frames.ItemNews, items.on_started),
        "item/completed": (frames.ItemNews, items.on_completed),
        "item/agentMessage/delta": (frames.Delta, items.on_text),
        "item/plan/delta": (frames.Delta, items.on_text),
        "item/reasoning/summaryTextDelta": (frames.Delta, items.on_summary),
        "item/reasoning/textDelta": (frames.Delta, items.on_thought),
        "thread/tokenUsage/updated": (frames.UsageNews, turns.on_usage),
        "error": (frames.ErrorNews, turns.on_error),
        "serverRequest/resolved": (frames.Resolved, prompts.on_resolved),
        "warning": (frames.Warned, _on_warning),
        "guardianWarning": (frames.Warned, _on_warning),
        "model/rerouted": (frames.Rerouted, _on_rerouted),
        "mcpServer/startupStatus/updated": (frames.McpStatus, _on_mcp),
    }
)
_STARTS_OVER = frozenset({"turn/started", "turn/completed"})


class CodexDialogue(DialogueBase[State]):
    """Implements `betcode.domain.ports.Dialogue`."""

    def _receive(self, record: Record) -> list[v1.AgentEvent]:
        """The events of one record. Whatever the record holds, this does not raise, and a turn ends that has ended."""
        builder = CodexEventBuilder(self._state, self._session, record)
        match record.kind:
            case RecordKind.OUT if record.too_long:
                self._on_too_long(record, builder)
            case RecordKind.OUT:
                self._on_line(record, builder)
            case RecordKind.IN:
                for line in record.data.split(b"\n"):
                    self._guarded(partial(self._on_said, line, builder), record, builder)
            case RecordKind.ERR:
                self._on_error_line(record, builder)
            case RecordKind.DAMAGED:
                malformed.say_damaged(record, builder)
            case RecordKind.START | RecordKind.EXIT | RecordKind.NOTE:
                pass  # an agent's end is the engine's to judge, with what is open here
        return builder.events

    def may_ask(self, record: Record) -> bool:
        return record.kind is RecordKind.OUT and b"requestApproval" in record.data[: malformed.EXCERPT]

    def addressed(self, line: bytes) -> bytes:
        return commands.addressed(self._state, line, provider_config(self._session).get("effort", ""))

    def _void(self, now_ns: int) -> list[v1.AgentEvent]:
        builder = CodexEventBuilder(self._state, self._session, None, now_ns)
        turns.void(builder)
        return builder.events

    def state(self) -> bytes:
        return dump(self._state)

    # ------------------------------------------------------------ open inputs

    def directory_of(self, tool_use_id: str) -> str | None:
        tool = self._state.tools.get(tool_use_id)
        return tool.cwd if tool is not None and tool.cwd else None

    def _build_view(self) -> DialogueView:
        state = self._state
        refused = (state.refused_thread,) if state.refused_thread else ()
        return DialogueView(
            **self._common_fields(),
            is_ready=bool(state.thread),
            turn_open=state.turn or bool(state.pending),
            answering=tuple(name for name, turn in state.pending.items() if turn) if state.turn else (),
            running_tools=self._running_tools(),
            holds=tuple(f"background command: {command}" for command in state.background.values()),
            errands=tuple(Errand(errand_id, line.encode()) for errand_id, line in state.errands.items()),
            api_pause=turns.api_pause(state),
            failure=_failure_in(tuple(state.errors), state.refused_thread),
            last_errors=(*state.errors, *refused),
        )

    def _running_tools(self) -> tuple[str, ...]:
        asked = {request.tool_use_id for request in self._state.requests.values()}
        return tuple(tool.name for tool_id, tool in self._state.tools.items() if tool_id not in asked)

    # ------------------------------------------------------------ lines

    def _on_said(self, line: bytes, builder: CodexEventBuilder) -> None:
        """Something of ours has been written to Codex."""
        frame, state = frames.decode(line), builder.state
        if isinstance(frame, Malformed):
            return
        match frame.method:
            case "":
                prompts.on_answer(frame, builder)
            case commands.TURN:
                turns.delivered(str(frame.id), builder)
                handshake.told_mode(frames.read(frame.params, frames.RequestParams) or frames.RequestParams(), builder)
            case commands.COMPACTION:
                state.compacting = True
                turns.delivered(str(frame.id), builder)
            case "thread/start" | "thread/resume" | "thread/fork":
                handshake.asked(frame, line, builder)
            case commands.CLEANING:
                state.errands.pop(str(frame.id), None)
                state.background.clear()
            case _:
                pass

    def _on_line(self, record: Record, builder: CodexEventBuilder) -> None:
        frame = frames.decode(record.data)
        if isinstance(frame, Malformed):
            malformed.on_malformed(frame, builder)
            return
        if self._state.bad_lines:
            malformed.end_bad_lines(builder)
        if frame.id is not None and frame.method:
            rpc_id = frame.id
            self._state.has_spoken = True
            if not self._guarded(lambda: prompts.on_request(rpc_id, frame.method, frame, builder), record, builder):
                prompts.refuse(rpc_id, prompts.UNREAD, builder)  # or it would wait for ever
        elif frame.method:
            self._on_news(frame, record, builder)
        elif frame.id is not None:
            self._guarded(lambda: self._on_reply(frame, builder), record, builder)

    def _on_reply(self, frame: frames.RpcMessage, builder: CodexEventBuilder) -> None:
        """What a request of ours was answered with."""
        state = builder.state
        if frame.id in state.pending:
            state.has_spoken = True
            turns.on_answered(str(frame.id), frame, builder)
        elif handshake.is_thread(frame.id):
            handshake.on_thread(frame, builder)
        elif frame.id == MODELS_ID:
            handshake.on_models(frame, builder)
        elif frame.id == INITIALIZE_ID and (refusal := frame.refusal) is not None:
            state.refused_thread = shortened(f"initialize: {refusal.message}", malformed.LONGEST_ERROR)

    def _on_news(self, frame: frames.RpcMessage, record: Record, builder: CodexEventBuilder) -> None:
        kind, handler = NEWS.get(frame.method, (None, None))
        if kind is None or handler is None:
            logger.debug("ignored a notification %r", frame.method)
            return
        if self._state.lost and frame.method not in _STARTS_OVER:
            return
        if self._state.thread:
            self._state.has_spoken = True
        news = frames.read(frame.params, kind)
        if news is None:
            self._on_unread(frame, record, builder)
        elif kind is frames.Delta:  # they come by the thousand, and change next to nothing
            handler(news, builder)
        else:
            self._guarded(lambda: handler(news, builder), record, builder, ends=frame.method == "turn/completed")

    def _on_unread(self, frame: frames.RpcMessage, record: Record, builder: CodexEventBuilder) -> None:
        malformed.say_malformed(builder, f"{shortened(frame.method, malformed.EXCERPT)} cannot be decoded", record.data)
        if frame.method == "turn/completed" and builder.state.turn:
            turns.end(builder, "error", list(builder.state.pending))

    def _guarded(
        self, work: Callable[[], None], record: Record, builder: CodexEventBuilder, *, ends: bool = False
    ) -> bool:
        """Whether that was done; if not, it is as if it had not been begun."""
        before, said = dump(self._state), len(builder.events)
        try:
            work()
        except Exception:
            logger.exception("a line could not be translated", extra={"offset": record.offset})
            self._state = builder.state = load(before, VERSION)
            del builder.events[said:]
            malformed.say_malformed(builder, "a message could not be translated", record.data)
            if ends:
                turns.end(builder, "error", list(builder.state.pending))
            return False
        return True

    def _on_too_long(self, record: Record, builder: CodexEventBuilder) -> None:
        size = malformed.say_too_long(record, builder)
        self._guarded(lambda: oversized.take(record.data, size, builder), record, builder)

    def _on_error_line(self, record: Record, builder: CodexEventBuilder) -> None:
        text = _STAMP.sub("", without_escapes(malformed.error_text(record)).strip())
        if not _NOISE.search(text) and text not in self._state.errors[-1:]:
            malformed.on_error_line(text, builder)
