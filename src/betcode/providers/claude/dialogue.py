"""The dialogue with Claude Code: translates its records, in journal order, into events. No I/O, no clock."""

import logging
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import starmap
from types import MappingProxyType
from typing import Any

from betcode.domain.agents.agent_state import CallScreening, ToolCall
from betcode.domain.agents.commands import RefuseRequest
from betcode.domain.agents.dialogue_view import DialogueView
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.store.rows import NewSession
from betcode.providers import malformed
from betcode.providers.claude import (
    api_pauses,
    calls,
    choices,
    jobs,
    oversized,
    prompts,
    system,
    text,
    tools,
    turns,
)
from betcode.providers.claude.advice import failure_in
from betcode.providers.claude.denials import is_about_trust
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.state import VERSION, State, dump, load
from betcode.providers.dialogue_base import DialogueBase
from betcode.v1 import agent_pb2 as v1
from betcode.wire import Malformed, Unknown, decode, frames
from betcode.wire.frames import ApiRetry, Assistant, Block, ControlResponse, Init, Result, StreamEvent, User

logger = logging.getLogger(__name__)

_TOOL_ID = re.compile(rb'"tool_use_id":\s*"([^"\\]{1,200})"')
_TOOL_STARTS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_failure_in = lru_cache(maxsize=64)(failure_in)  # asked for every view, mostly about the same few lines


def _on_assistant(frame: Assistant, builder: ClaudeEventBuilder) -> None:
    """Finished blocks: they are what was said, whatever the deltas were."""
    parent = frame.parent_tool_use_id or ""
    message = frame.message
    blocks = [Block(type="text", text=message.content)] if isinstance(message.content, str) else message.content
    if not parent:
        turns.begin(builder)
        turns.pass_point(builder, frame.uuid)
        choices.note(frame, builder.state)
        if builder.state.compact_error and frame.local_command_source:
            return  # the same words again
        stream = builder.state.stream
        if stream is not None and stream.message_id != message.id:
            text.void(builder)
            builder.state.stream = None
            if message.usage is not None:
                builder.state.context_tokens = turns.context_tokens(message.usage) or builder.state.context_tokens
                builder.state.read_tokens = turns.read_tokens(message.usage) or builder.state.read_tokens
        if frame.is_api_error_message:
            turns.on_api_error(frame, "\n".join(block.text for block in blocks), builder)
            return
    api_pauses.resumed(builder.state)
    for block in blocks:
        index = text.block_of(builder.state, message.id)
        if block.type in ("text", "thinking"):
            thinking = block.type == "thinking"
            said = block.thinking if thinking else block.text
            text.settle(builder, message.id, index, said, thinking=thinking, parent=parent, is_partial=frame.aborted)
        elif block.type in _TOOL_STARTS:
            tools.start(builder, block.id, block.name, bytes(block.input), parent)
        elif block.type.endswith("_tool_result"):
            tools.finish(builder, block.tool_use_id, block)


def _on_retry(frame: ApiRetry, builder: ClaudeEventBuilder) -> None:
    text.void(builder)
    api_pauses.on_retry(frame, builder)


Handler = Callable[[Any, ClaudeEventBuilder], None]

HANDLERS: Mapping[type, Handler] = MappingProxyType(
    {
        StreamEvent: text.on_stream,
        Assistant: _on_assistant,
        User: tools.on_user,
        Result: turns.on_result,
        frames.CommandLifecycle: turns.on_lifecycle,
        frames.ControlRequest: prompts.on_request,
        frames.ControlCancel: prompts.on_withdrawn,
        ControlResponse: calls.on_reply,
        frames.ConversationReset: system.on_reset,
        frames.RateLimit: api_pauses.on_rate_limit,
        Init: system.on_init,
        frames.Status: system.on_status,
        frames.ApiRetry: _on_retry,
        frames.CompactBoundary: system.on_compacted,
        frames.PermissionDenied: system.on_denied,
        frames.Informational: system.on_informational,
        frames.BackgroundTasks: jobs.on_tasks,
        frames.TaskStarted: jobs.on_task_started,
        frames.TaskUpdated: jobs.on_task_updated,
        frames.TaskNotification: jobs.on_task_notification,
    }
)
_INPUT_HANDLERS: Mapping[type, Handler] = MappingProxyType(
    {User: turns.on_delivered, ControlResponse: prompts.on_answer, frames.ControlRequest: calls.on_command}
)


class ClaudeDialogue(DialogueBase[State]):
    """Implements `betcode.domain.ports.Dialogue`."""

    def __init__(self, session: NewSession, state: State, handlers: Mapping[type, Handler] = HANDLERS) -> None:
        super().__init__(session, state)
        self._handlers = handlers
        self._calls: dict[str, ToolCall] = {}  # whole, as far as this dialogue itself has read them
        self._commands: dict[str, v1.AgentCommand] = {}  # likewise

    def _receive(self, record: Record) -> list[v1.AgentEvent]:
        """The events of one record. Whatever the record holds, this does not raise, and a result ends its turn."""
        builder = ClaudeEventBuilder(self._state, self._session, record.wall_ns, record.mono_ns, self._commands)
        match record.kind:
            case RecordKind.OUT:
                self._on_line(record, builder)
            case RecordKind.IN:
                frame = decode(record.data)
                self._translate(frame, _INPUT_HANDLERS.get(type(frame)), record, builder)
            case RecordKind.ERR:
                line = malformed.error_text(record)
                if not is_about_trust(line):
                    malformed.on_error_line(line, builder)
            case RecordKind.DAMAGED:
                malformed.say_damaged(record, builder)
            case RecordKind.START | RecordKind.EXIT | RecordKind.NOTE:
                pass  # an agent's end is the engine's to judge, with what is open here
        return builder.events

    def may_ask(self, record: Record) -> bool:
        return record.kind is RecordKind.OUT and b"control_request" in record.data

    def addressed(self, line: bytes) -> bytes:
        """Its commands name everything by ids that stay."""
        return line

    def _void(self, now_ns: int) -> list[v1.AgentEvent]:
        builder = ClaudeEventBuilder(self._state, self._session, now_ns, 0)
        text.void(builder)
        return builder.events

    def state(self) -> bytes:
        return dump(self._state)

    # ------------------------------------------------------------ open inputs

    def directory_of(self, tool_use_id: str) -> str | None:
        return self._state.directories.get(tool_use_id)

    def _build_view(self) -> DialogueView:
        state, errors = self._state, tuple(self._state.errors)
        # Every batch of records needs a view; the conditions keep it cheap, since these are mostly empty.
        return DialogueView(
            **self._common_fields(),
            is_ready=True,  # it reads messages from its first moment on
            chosen=MappingProxyType(state.chosen.copy()),
            turn_open=state.turn or bool(state.pending),
            answering=tuple(turns.begun_messages(state)) if state.turn else (),
            withdrawing=frozenset(state.withdrawing.values()),
            running_tools=self._running_tools() if state.tools else (),
            holds=self._holds() if state.background or state.jobs else (),
            refusals=tuple(starmap(RefuseRequest, state.refused.items())),
            call_screening=CallScreening(state.screening),
            calls=calls.waiting(state, self._calls) if state.calls else (),
            api_pause=api_pauses.api_pause(state),
            failure=_failure_in(errors, stillborn=state.stillborn),
            last_errors=errors,
        )

    def _running_tools(self) -> tuple[str, ...]:
        asked = {request.tool_use_id for request in self._state.requests.values()}
        return tuple(tool.name for tool_id, tool in self._state.tools.items() if tool_id not in asked)

    def _holds(self) -> tuple[str, ...]:
        tasks = [f"background task: {label}" for label in self._state.background.values()]
        return (*tasks, *[f"scheduled: {job.label}" for job in self._state.jobs.values()])

    # ------------------------------------------------------------ lines

    def _on_line(self, record: Record, builder: ClaudeEventBuilder) -> None:
        if record.too_long:
            self._state.has_spoken = True
            self._on_too_long(record, builder)
            return
        frame = decode(record.data)
        self._state.has_spoken = self._state.has_spoken or type(frame) is not ControlResponse
        if type(frame) is Malformed:
            malformed.on_malformed(frame, builder)
            return
        if self._state.bad_lines:
            malformed.end_bad_lines(builder)
        if type(frame) is Unknown:
            logger.debug("ignored a frame of kind %r", frame.kind)
            return
        if type(frame) is frames.ControlRequest and calls.is_call(frame):
            calls.opened(frame, self._state, self._calls)  # also in a turn that cannot be followed: the agent waits
            return
        if self._state.lost and type(frame) is not frames.ControlRequest:  # which the agent waits for, too
            if type(frame) not in (Init, Result):
                return
            self._state.lost = False
            builder.notice(
                v1.NOTICE_KIND_RUN,
                "The last turn is incomplete: the dialogue's state was lost",
            )
        self._translate(frame, self._handlers.get(type(frame)), record, builder)

    def _translate(self, frame: object, handler: Handler | None, record: Record, builder: ClaudeEventBuilder) -> None:
        if handler is None:
            return
        # Deltas come by the thousand and change next to nothing; before anything else the way back is kept.
        before = b"" if type(frame) is StreamEvent else dump(self._state)
        try:
            handler(frame, builder)
        except Exception:
            logger.exception("a frame could not be translated", extra={"offset": record.offset})
            if before:
                self._state = builder.state = load(before, VERSION)
            builder.events.clear()
            malformed.say_malformed(builder, "a message could not be translated", record.data)
            if type(frame) is Result:
                turns.end_turn(builder, "error")

    def _on_too_long(self, record: Record, builder: ClaudeEventBuilder) -> None:
        size = malformed.say_too_long(record, builder)
        # What it was can be guessed from its beginning; a tool and a turn must end all the same.
        if oversized.answer_request(record.data, builder.state):
            return
        if b'"total_cost_usd"' in record.data:
            turns.end_turn(builder, "error")
        elif (hit := _TOOL_ID.search(record.data)) and (
            tool_id := hit[1].decode(errors="replace")
        ) in builder.state.tools:
            output = f"[a result of about {size} bytes, over the limit for a line]"
            tools.finish(builder, tool_id, Block(type="tool_result", content=output))
