"""Compaction: the agent puts a summary in place of its context, and replay begins at the last complete exchange.

`core.counters` moves the boundary for every compaction: one that is requested here, one that a person starts with
`/compact`, and one that the agent starts itself. This module sends the request, and callers wait here for its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio

from betcode.domain.agents.commands import CompactContext
from betcode.domain.store.rows import NO_SEQ, InputKind, InputRow
from betcode.domain.store.store_ports import Store
from betcode.domain.values.identifiers import Seq, SessionId, SessionKey, time_ordered_uuid
from betcode.engine.core import compaction, events
from betcode.engine.core.compaction import CompactionProgress, CompactionResult
from betcode.engine.core.counters import KIND_OF
from betcode.engine.fault_points import FaultPoint
from betcode.engine.shell.views import session_view
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

_READ_BYTES = 64 * 1024
_WITH_SUMMARY = (
    "The source session of this fork was compacted before this fork's first turn. "
    "The agent starts from that summary, not from the whole conversation"
)


@dataclass(slots=True)
class Compaction:
    """A compaction under way, and those who wait for it."""

    input_id: str
    over: anyio.Event = field(default_factory=anyio.Event)
    progress: CompactionProgress = field(default_factory=CompactionProgress)

    @property
    def boundary(self) -> v1.CompactionBoundary | None:
        return self.progress.boundary

    def add(self, said: Iterable[v1.AgentEvent]) -> None:
        """Add what these events, which are on disk now, report of it."""
        self.progress = compaction.progress_after(self.progress, said)


async def compact(session: LiveSession, request_id: str = "", *, why: str = "") -> CompactionResult:
    """Have the agent compact, and wait for it. All callers meanwhile wait for the same one. A caller may leave.

    A request with the same id is the same compaction, also when that is over.

    Raises:
        InvalidRequest, SessionClosed, CompactionUnsupported: the request is refused.
        SessionActive: a turn is open, or a message waits for one.
        PoolExhausted, AgentMemoryExhausted, AgentUnavailable, StorageDegraded: nothing was begun.
        CompactionFailed: the session is as it was before.
    """
    async with session.changing():
        request_id = compaction.check_request(session_view(session), request_id)
        under_way = session.compaction or await _known(session, request_id)
        if under_way is None:
            if (done := compaction.refuse_or_skip(session_view(session))) is not None:
                return done
            under_way = await _begin(session, request_id, why)
    await under_way.over.wait()
    return compaction.result_of(session_view(session), under_way.progress)


async def _known(session: LiveSession, request_id: str) -> Compaction | None:
    """One that was asked for under this id before, and is over."""
    if not request_id:
        return None
    row = await session.context.store.find_input(session.writer.key, request_id)
    if row is None:
        return None
    compaction.refuse_other_input(row)
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
    decision = compaction.on_request(session_view(session), row, why)
    await session.perform_locked(decision)
    under_way = session.compaction
    assert under_way is not None
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
        session.compaction.add(said)
        if session.compaction.progress.turn_over:
            settle(session, "")


def settle(session: LiveSession, reason: str) -> None:
    """Tell those who wait, once the input that asked for it is no longer open."""
    under_way = session.compaction
    if under_way is not None and under_way.input_id not in session.inputs:
        under_way.progress = replace(under_way.progress, reason=under_way.progress.reason or reason)
        session.compaction = None
        under_way.over.set()


async def restore_compaction(session: LiveSession) -> None:
    """Take up a compaction that an earlier daemon began, with what was told of it since."""
    for row in session.inputs.values():
        if row.kind is InputKind.COMPACTION:
            session.compaction = Compaction(row.input_id)
            await _look_back(session, row, session.compaction)


async def _look_back(session: LiveSession, row: InputRow, found: Compaction) -> None:
    after = Seq(row.seq - 1)
    while batch := await session.context.store.read_events(session.writer.key, after, _READ_BYTES):
        found.add(map(v1.AgentEvent.FromString, batch.events))
        if found.progress.turn_over:
            return
        after = batch.last
