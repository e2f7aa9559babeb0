"""Compaction: the agent puts a summary in place of its context, and replay begins at the last complete exchange.

The boundary itself is moved where events are counted (`tally`), whoever began it: a person by this call, a person by
typing `/compact`, or the agent by itself. What stands here is the asking, and who waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio

from betcode.domain.agents.commands import CompactContext
from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import (
    CompactionFailed,
    CompactionUnsupported,
    InvalidRequest,
    SessionActive,
)
from betcode.domain.store.changes import AddInput
from betcode.domain.store.rows import NO_SEQ, OPENS_TURN, InputKind, InputRow, SessionState
from betcode.domain.store.store_ports import Store
from betcode.domain.values.identifiers import NotAnIdentifier, Seq, SessionId, SessionKey, parse_uuid, time_ordered_uuid
from betcode.engine.core import events
from betcode.engine.core.counters import KIND_OF
from betcode.engine.fault_points import FaultPoint
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

_READ_BYTES = 64 * 1024
_WITH_SUMMARY = (
    "The source session of this fork was compacted before this fork's first turn. "
    "The agent starts from that summary, not from the whole conversation"
)
_NO_REASON = "the agent gave no reason"


@dataclass(frozen=True, slots=True)
class CompactionResult:
    messages_before: int
    messages_after: int
    tokens_saved: int


@dataclass(slots=True)
class Compaction:
    """One that is under way, and what is known of it so far."""

    input_id: str
    over: anyio.Event = field(default_factory=anyio.Event)
    boundary: v1.CompactionBoundary | None = None
    reason: str = ""
    turn_over: bool = False


async def compact(session: LiveSession, request_id: str = "", *, why: str = "") -> CompactionResult:
    """Have the agent compact, and wait for it; who asks meanwhile waits for the same one, and leaving does not stop it.

    Asked again under the same id, it is the same compaction, also when that is over.

    Raises:
        InvalidRequest, SessionClosed, CompactionUnsupported: it cannot be.
        SessionActive: a turn is open, or a message waits for one.
        PoolExhausted, AgentMemoryExhausted, AgentUnavailable, StorageDegraded: and nothing was begun.
        CompactionFailed: the session is as it was before.
    """
    async with session.changing():
        session.refuse_if_closed()
        if not session.capabilities.compaction:
            raise CompactionUnsupported(session.session_id, session.provider.name)
        request_id = _spelled(request_id)
        under_way = session.compaction or await _known(session, request_id)
        if under_way is None:
            if not session.at_rest or any(row.kind in OPENS_TURN for row in session.inputs.values()):
                raise SessionActive(session.session_id)
            state = session.writer.state
            if is_compact(state):
                count = state.message_count - state.landmarks.compacted
                return CompactionResult(count, count, 0)
            under_way = await _begin(session, request_id, why)
    await under_way.over.wait()
    if under_way.boundary is None:
        session.refuse_if_closed()
        raise CompactionFailed(session.session_id, under_way.reason or _NO_REASON)
    told = under_way.boundary
    return CompactionResult(told.messages_before, told.messages_after, told.tokens_saved)


def is_compact(state: SessionState) -> bool:
    """Nothing was said since the last compaction: an agent that is asked all the same calls that an error."""
    return not state.conversation_began or state.message_count == state.landmarks.compacted_at


def _spelled(request_id: str) -> str:
    try:
        return parse_uuid(request_id) if request_id else ""
    except NotAnIdentifier:
        raise InvalidRequest(f"The idempotency key {request_id[:80]!r} is not a UUID: make one") from None


async def _known(session: LiveSession, request_id: str) -> Compaction | None:
    """One that was asked for under this id before, and is over."""
    if not request_id:
        return None
    row = await session.context.store.find_input(session.writer.key, request_id)
    if row is None:
        return None
    if row.kind is not InputKind.COMPACTION:
        raise InvalidRequest("This id was used for a message: make a new one", idempotency_key=request_id)
    found = Compaction(row.input_id)
    await _look_back(session, row, found)
    found.over.set()
    return found


async def _begin(session: LiveSession, request_id: str, why: str) -> Compaction:
    await session.admit()
    command = CompactContext(request_id or time_ordered_uuid())
    row = replace(
        session.control_row(command),
        input_id=command.request_id,
        kind=InputKind.COMPACTION,
        seq=session.writer.next_seq,
    )
    await session.writer.write([events.status(v1.COMPACTING, why)], [AddInput(row)], status=session.opened())
    session.compaction = under_way = Compaction(row.input_id)
    session.may_start = True
    session.context.faults(FaultPoint.AFTER_COMPACTION_ASKED, session.session_id)
    session.go_on()
    return under_way


async def compacted_after(store: Store, session: SessionKey, at: Seq) -> Seq:
    """Where the conversation that went on there was compacted first; 0: it was not."""
    data = await store.first_of_kind(session, KIND_OF["compaction"], at)
    if data is None:
        return NO_SEQ
    event = v1.AgentEvent.FromString(data)
    # Cleared: that one goes on as another, and the one before it is still there.
    return NO_SEQ if event.compaction.new_conversation_id else Seq(event.sequence)


async def before_fork(session: LiveSession) -> list[v1.AgentEvent]:
    """What a fork's history says where its conversation branches off from one that was compacted since the fork."""
    new, store = session.writer.new, session.context.store
    original = await store.find_session(SessionId(new.forked_from)) if new.fork_point else None
    if original is None or not await compacted_after(store, original.key, new.forked_at):
        return []
    return [events.notice(v1.NOTICE_KIND_FORK, _WITH_SUMMARY)]


# ---------------------------------------------------------------- what becomes of it


def note_events(session: LiveSession, said: Iterable[v1.AgentEvent]) -> None:
    """Note what these events, which are on disk now, say of a compaction under way; it is over when its turn is."""
    if session.compaction is not None:
        _take_note(session.compaction, said)
        if session.compaction.turn_over:
            settle(session, "")


def settle(session: LiveSession, reason: str) -> None:
    """Tell those who wait, once the input that asked for it is no longer open."""
    under_way = session.compaction
    if under_way is not None and under_way.input_id not in session.inputs:
        under_way.reason = under_way.reason or reason
        session.compaction = None
        under_way.over.set()


def _take_note(under_way: Compaction, said: Iterable[v1.AgentEvent]) -> None:
    for event in said:
        match event.WhichOneof("event"):
            case "compaction" if not event.compaction.new_conversation_id:
                under_way.boundary = event.compaction
            case "error" if event.error.code == ErrorCode.COMPACTION_FAILED:
                under_way.reason = event.error.details["reason"]
            case "turn_complete":
                if event.turn_complete.stop_reason == "cancelled":
                    under_way.reason = "it was cancelled"
                under_way.turn_over = True
                return
            case _:
                pass


async def restore_compaction(session: LiveSession) -> None:
    """Take up a compaction that an earlier daemon began, with what was told of it since."""
    for row in session.inputs.values():
        if row.kind is InputKind.COMPACTION:
            session.compaction = Compaction(row.input_id)
            await _look_back(session, row, session.compaction)


async def _look_back(session: LiveSession, row: InputRow, compaction: Compaction) -> None:
    after = Seq(row.seq - 1)
    while batch := await session.context.store.read_events(session.writer.key, after, _READ_BYTES):
        _take_note(compaction, map(v1.AgentEvent.FromString, batch.events))
        if compaction.turn_over:
            return
        after = batch.last
