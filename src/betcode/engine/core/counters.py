"""Counters and state in a session's row, updated with every event."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from betcode.domain.events.event_table import EventTable
from betcode.domain.sessions.outside_turns import OUTSIDE
from betcode.domain.store.rows import SessionState
from betcode.domain.values.identifiers import Seq
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2 import AgentEvent

PREVIEW_CHARACTERS = 200
_LONGEST_ID = 200  # characters, of a message
_LARGEST = 2**63 - 1  # that SQLite stores
_AT_WORK = frozenset({v1.THINKING, v1.EXECUTING_TOOL, v1.COMPACTING})
_CUT_OFF = frozenset({"crashed", "stopped"})  # when was noticed later
_NO_LAST_WORD = _CUT_OFF | {"cancelled", "error"}
KIND_OF = {field.name: field.number for field in AgentEvent.DESCRIPTOR.oneofs_by_name["event"].fields}


class SessionCounters:
    """Counts one batch of events into the state that is stored with it."""

    def __init__(self, state: SessionState) -> None:
        self._before = state
        self._last_seq = int(state.last_seq)
        self._updated_ns = state.updated_ns
        self._model = state.model
        self._messages = state.message_count
        self._input_tokens = state.input_tokens
        self._output_tokens = state.output_tokens
        self._cost = state.cost_usd
        self._context = state.context_percent
        self._preview = state.preview
        self._turns = state.turns
        self._worked_ms = state.worked_ms
        self._working_since_ns = state.working_since_ns
        self._boundary = int(state.compaction_sequence)
        self._context_tokens = state.context_tokens
        self._marks = state.landmarks
        self._cache_read = 0

    def number(self, event: AgentEvent) -> int:
        """Give the event its number, count it, and return its kind."""
        self._last_seq += 1
        event.sequence = self._last_seq
        count = COUNTED.handler(event)
        if count is not None:
            count(self, event)
        return KIND_OF.get(event.WhichOneof("event") or "", 0)

    def number_as(self, event: AgentEvent) -> None:
        """Count an event that has its number already."""
        self._last_seq = event.sequence - 1
        self.number(event)

    def state(self, updated_ns: int, fields: Mapping[str, Any] | None = None) -> SessionState:
        """The state after the batch; `fields` are what else changes with it, at one go since every commit does this."""
        return replace(
            self._before,
            last_seq=Seq(self._last_seq),
            updated_ns=max(updated_ns, self._updated_ns),
            model=self._model,
            message_count=self._messages,
            input_tokens=self._input_tokens,
            output_tokens=self._output_tokens,
            cost_usd=self._cost,
            context_percent=self._context,
            preview=self._preview,
            turns=self._turns,
            worked_ms=self._worked_ms,
            working_since_ns=self._working_since_ns,
            compaction_sequence=Seq(self._boundary),
            context_tokens=self._context_tokens,
            landmarks=self._marks,
            **(fields or {}),
        )

    @property
    def usage(self) -> tuple[int, int, int]:
        """The tokens of this batch: input, output and read from the cache; empty numbers where it told of none."""
        before = self._before
        return self._input_tokens - before.input_tokens, self._output_tokens - before.output_tokens, self._cache_read

    def _text(self, event: AgentEvent) -> None:
        text = event.text_delta
        if not text.is_complete or event.parent_tool_use_id:
            return
        if not text.text and not event.cuts:  # it takes its deltas back: nothing was said
            return
        # Several blocks of one message follow one another under its id.
        if not text.message_id or text.message_id[:_LONGEST_ID] != self._marks.answer_id:
            marks = self._marks._replace(answer=event.sequence, answer_after=self._messages)
            self._marks = marks._replace(answer_id=text.message_id[:_LONGEST_ID])
            self._messages += 1
        if text.text.strip():
            self._preview = text.text[:PREVIEW_CHARACTERS]

    def _user_input(self, event: AgentEvent) -> None:
        self._messages += 1
        self._preview = event.user_input.content[:PREVIEW_CHARACTERS]

    def _usage(self, event: AgentEvent) -> None:
        usage = event.usage
        self._input_tokens += usage.input_tokens
        self._output_tokens += usage.output_tokens
        self._cache_read += usage.cache_read_tokens
        if math.isfinite(usage.cost_usd):  # what is no number cannot be stored, nor anything with it
            self._cost += usage.cost_usd
        self._context_tokens = min(usage.context_tokens, _LARGEST) or self._context_tokens

    def _turn_complete(self, event: AgentEvent) -> None:
        if event.turn_complete.origin != OUTSIDE:  # which no budget pays for, and no snapshot was made of
            self._turns += 1
        marks, why = self._marks, event.turn_complete.stop_reason
        if why in _CUT_OFF:
            self._count_work(self._updated_ns)
            self._working_since_ns = 0
        if why in _NO_LAST_WORD:
            self._marks = marks._replace(answer=marks.exchange, answer_after=marks.exchange_after)
        else:
            self._marks = marks._replace(exchange=marks.answer, exchange_after=marks.answer_after)

    def _compaction(self, event: AgentEvent) -> None:
        """The boundary moves to the last message that ended a turn, and the event says what that means."""
        told, marks = event.compaction, self._marks
        if told.new_conversation_id:
            return  # cleared, not compacted: the history of a session has no summary then
        told.messages_before = self._messages - marks.compacted
        if marks.exchange > self._boundary:
            self._boundary = marks.exchange
            self._marks = marks._replace(compacted=marks.exchange_after)
        self._marks = self._marks._replace(compacted_at=self._messages)
        told.messages_after = self._messages - self._marks.compacted
        told.tokens_saved = max(self._context_tokens - told.tokens_after, 0)
        told.compacted_before = self._boundary
        self._context_tokens = min(told.tokens_after, _LARGEST)

    def _status(self, event: AgentEvent) -> None:
        """Time in a turn counts from one status to the next, but for what passes until a person answers."""
        status, at_ns = event.status_change.status, event.timestamp.ToNanoseconds()
        # A turn that broke off ended when something was last heard of it, not when that was noticed.
        self._count_work(self._updated_ns if status == v1.ERROR else at_ns)
        self._working_since_ns = at_ns if status in _AT_WORK else 0

    def _count_work(self, until_ns: int) -> None:
        if self._working_since_ns:
            self._worked_ms += max(until_ns - self._working_since_ns, 0) // 1_000_000

    def _session_info(self, event: AgentEvent) -> None:
        self._model = event.session_info.model or self._model
        if event.session_info.tools:
            self._marks = self._marks._replace(info=event.sequence)
        if event.session_info.commands:
            self._marks = self._marks._replace(commands=event.sequence)
        percent = event.session_info.context_usage_percent
        self._context = percent if percent and math.isfinite(percent) else self._context


COUNTED: EventTable[Callable[[SessionCounters, AgentEvent], None]] = EventTable(
    "the counters of a session",
    {
        "text_delta": SessionCounters._text,
        "user_input": SessionCounters._user_input,
        "usage": SessionCounters._usage,
        "turn_complete": SessionCounters._turn_complete,
        "compaction": SessionCounters._compaction,
        "session_info": SessionCounters._session_info,
        "status_change": SessionCounters._status,
    },
    ignored=frozenset(
        {"thinking_delta", "tool_call_start", "tool_call_result", "todo_update", "plan_mode"}  # no message by itself
        # Open prompts, queued messages and the input lock have rows of their own.
        | {"permission_request", "user_question", "permission_resolved", "permission_reminder"}
        | {"message_state", "input_lock", "presence"}
        | {"error", "notice", "gap", "deprecation"}  # remarks beside the conversation
    ),
)
