"""Decisions about a compaction: when it starts, how far it is, whether it outlives its agent, and its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import (
    CompactionFailed,
    CompactionUnsupported,
    InvalidRequest,
    SessionActive,
    SessionClosed,
)
from betcode.domain.metrics.health import HIGH_MEMORY_SHARE
from betcode.domain.sessions.budget_state import is_reached
from betcode.domain.store.changes import AddInput
from betcode.domain.store.rows import InputKind, InputRow, InputState, SessionState
from betcode.domain.values.identifiers import NotAnIdentifier, SessionId, parse_uuid
from betcode.engine.core import events
from betcode.engine.core.decision import AllowStart, BeginCompaction, Decision
from betcode.engine.core.status import turn_opened
from betcode.engine.core.view import RunView, SessionView
from betcode.v1 import agent_pb2 as v1

_NO_REASON = "the agent gave no reason"
_CANCELLED = "it was cancelled"
_LOW_MEMORY_SHARE = 0.7  # below this share, the next shortage counts as another one
_MIB = 1024 * 1024
CandidateT = TypeVar("CandidateT")

# ---------------------------------------------------------------- a request


@dataclass(frozen=True, slots=True)
class CompactionResult:
    messages_before: int
    messages_after: int
    tokens_saved: int


def check_request(session: SessionView, request_id: str) -> str:
    """Return the id of a request in its usual spelling.

    Raises:
        SessionClosed, CompactionUnsupported, InvalidRequest: the request is refused.
    """
    if session.is_closed:
        raise SessionClosed(session.session_id)
    if not session.capabilities.compaction:
        raise CompactionUnsupported(session.session_id, session.info.provider)
    try:
        return parse_uuid(request_id) if request_id else ""
    except NotAnIdentifier:
        raise InvalidRequest(f"The idempotency key {request_id[:80]!r} is not a UUID: make one") from None


def refuse_other_input(row: InputRow) -> None:
    """Raises InvalidRequest if the input that has the id of the request is no compaction."""
    if row.kind is not InputKind.COMPACTION:
        raise InvalidRequest("This id was used for a message: make a new one", idempotency_key=row.input_id)


def refuse_or_skip(session: SessionView) -> CompactionResult | None:
    """Return the result if there is nothing to compact, or None if a compaction is to begin.

    Raises:
        SessionActive: a turn is open, or a message waits for one.
    """
    if not session.at_rest or session.has_work:
        raise SessionActive(session.session_id)
    if not is_compact(session.state):
        return None
    count = session.state.message_count - session.state.landmarks.compacted
    return CompactionResult(count, count, 0)


def is_compact(state: SessionState) -> bool:
    """Whether there was no message since the last compaction. An agent reports an error if it is asked then."""
    return not state.conversation_began or state.message_count == state.landmarks.compacted_at


def on_request(session: SessionView, row: InputRow, why: str) -> Decision:
    """Begin a compaction: store its input, and say why it begins."""
    status = turn_opened(session.state.status)
    return Decision(
        (events.status(v1.COMPACTING, why),),
        (AddInput(row),),
        {"status": status},
        (BeginCompaction(row.input_id), AllowStart()),
    )


# ---------------------------------------------------------------- progress and result


@dataclass(frozen=True, slots=True)
class CompactionProgress:
    """What the events of a compaction have reported so far."""

    boundary: v1.CompactionBoundary | None = None
    reason: str = ""  # of its failure
    turn_over: bool = False


def progress_after(progress: CompactionProgress, new_events: Iterable[v1.AgentEvent]) -> CompactionProgress:
    """Add these events, up to the end of the compaction's turn."""
    for event in new_events:
        match event.WhichOneof("event"):
            case "compaction" if not event.compaction.new_conversation_id:
                progress = replace(progress, boundary=event.compaction)
            case "error" if event.error.code == ErrorCode.COMPACTION_FAILED:
                progress = replace(progress, reason=event.error.details["reason"])
            case "turn_complete":
                was_cancelled = event.turn_complete.stop_reason == "cancelled"
                return replace(progress, reason=_CANCELLED if was_cancelled else progress.reason, turn_over=True)
            case _:
                pass
    return progress


def result_of(session: SessionView, progress: CompactionProgress) -> CompactionResult:
    """Return the result of a compaction that is over.

    Raises:
        SessionClosed: the session was closed first.
        CompactionFailed: the agent reported no new boundary.
    """
    if progress.boundary is None:
        if session.is_closed:
            raise SessionClosed(session.session_id)
        raise CompactionFailed(session.session_id, progress.reason or _NO_REASON)
    told = progress.boundary
    return CompactionResult(told.messages_before, told.messages_after, told.tokens_saved)


# ---------------------------------------------------------------- automatic compaction


def may_begin(session: SessionView, *, is_allowed: bool) -> bool:
    """Whether the daemon may compact this session without a request. `is_allowed`: by the settings."""
    if not is_allowed or is_reached(session.state):
        return False  # over budget: the model would read the whole context, and nobody has allowed more
    return session.capabilities.compaction and not is_compact(session.state)


def reason_after_turn(session: SessionView, threshold: int, *, is_allowed: bool) -> str:
    """Why the session is to be compacted after its turn; empty: it is not. `threshold` 0: there is none."""
    tokens = session.state.context_tokens
    if not exceeds(session.state, threshold) or not session.at_rest or not may_begin(session, is_allowed=is_allowed):
        return ""
    return f"The context has {tokens:,} tokens, more than sessions.auto_compact_threshold"


def exceeds(state: SessionState, threshold: int) -> bool:
    """Whether the context is larger than the threshold; 0: there is none."""
    return bool(threshold) and state.context_tokens > threshold


@dataclass(frozen=True, slots=True)
class MemoryPressure:
    """The memory of the daemon. One compaction for each shortage: it relieves the agent more than the daemon."""

    is_short: bool = False
    is_answered: bool = False  # a session was compacted since memory became short

    @property
    def is_due(self) -> bool:
        return self.is_short and not self.is_answered


def pressure_after(pressure: MemoryPressure, used_bytes: int, limit_bytes: int) -> MemoryPressure:
    """The pressure with this use of memory."""
    is_over = used_bytes < _LOW_MEMORY_SHARE * limit_bytes
    return MemoryPressure(used_bytes > HIGH_MEMORY_SHARE * limit_bytes, pressure.is_answered and not is_over)


def memory_reason(used_bytes: int, limit_bytes: int) -> str:
    return f"The daemon uses {used_bytes // _MIB} of the {limit_bytes // _MIB} MiB of daemon.memory_limit"


def longest_idle(idle_since: Mapping[CandidateT, float]) -> CandidateT | None:
    """The one that has been idle longest, the first of equal ones; None: there is none."""
    return min(idle_since, key=idle_since.__getitem__, default=None)


# ---------------------------------------------------------------- the end of its agent


def is_waiting(inputs: Iterable[InputRow]) -> bool:
    """Whether a compaction was requested that no agent has been given."""
    return any(row.kind is InputKind.COMPACTION and row.number == 0 for row in inputs)


def passes_to_next_agent(run: RunView, row: InputRow) -> bool:
    """Whether the next agent gets this compaction: an agent that was asked to end did not take it."""
    return row.state is InputState.ACCEPTED and run.asked_to_end and not run.stopped


def ends_with_agent(run: RunView, inputs: Iterable[InputRow]) -> bool:
    """Whether a compaction is open that no other agent continues: its end is no crash of a turn."""
    return any(row.kind is InputKind.COMPACTION and not passes_to_next_agent(run, row) for row in inputs)


def closing_events(session_id: SessionId, why: str, *, is_done: bool, rests: bool) -> list[v1.AgentEvent]:
    """The end of a compaction whose agent is gone. `is_done`: the agent had reported the new boundary."""
    if is_done:
        new_events = [events.turn_complete("end_turn")]
    else:
        error = events.error(
            ErrorCode.COMPACTION_FAILED, "Session compaction failed", session_id=session_id, reason=why
        )
        new_events = [error, events.turn_complete("error")]
    return [*new_events, events.status(v1.IDLE)] if rests else new_events
