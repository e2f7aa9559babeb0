"""One writer per session: it numbers events, serializes each once, commits them, applies and announces them."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import anyio

from betcode.domain.errors import StorageDegraded, StorageFailed
from betcode.domain.events.size_limit import bound
from betcode.domain.metrics.counts import Counts
from betcode.domain.metrics.turn_trace import TraceSink
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.turn_watch import TurnListener
from betcode.domain.store.changes import AddBlob, AppendEvents, Change, SaveSession
from betcode.domain.store.rows import SessionRow, SessionState, StoredEvent
from betcode.domain.store.store_ports import LogStore
from betcode.domain.values.identifiers import Seq
from betcode.engine.core import events
from betcode.engine.core.counters import SessionCounters
from betcode.engine.core.decision import StateFields
from betcode.engine.core.state import Session, apply
from betcode.engine.follow.growth import GrownLogs, Growth
from betcode.engine.follow.tail import Tail
from betcode.engine.shell.observe.turn_metrics import TurnMetrics
from betcode.engine.shell.observe.turn_observer import TurnObserver
from betcode.telemetry.log_context import Span
from betcode.util.wall_clock import now_ns
from betcode.v1.agent_pb2 import AgentEvent

logger = logging.getLogger(__name__)

EPOCH_JUMP = 1_000_000
RETRY_AFTER_S = 0.5
DISK_FULL = "the disk is full"
_BOARD = "degraded"


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """Changes of one session that are to be committed, and what it is afterwards."""

    changes: tuple[Change, ...]
    state: SessionState
    stored: tuple[StoredEvent, ...]
    usage: tuple[int, int, int] = (0, 0, 0)  # tokens: input, output, read from the cache


class SessionWriter:
    """Whoever writes holds the session's lock: numbers are given here and nowhere else."""

    def __init__(
        self,
        store: LogStore,
        row: SessionRow,
        *,
        counts: Counts | None = None,
        traces: TraceSink | None = None,
        watch: TurnListener | None = None,
        growth: Growth | None = None,
    ) -> None:
        self.key = row.key
        self.new = row.new
        self.session = Session(row.state)
        self.tail = Tail(row.state.last_seq)
        self.degraded_reason = ""
        self.in_line: set[anyio.CancelScope] = set()  # of those who wait to write; nobody waits for what is degraded
        self.turns = TurnMetrics(row.new.session_id, row.new.provider, row.state, counts or Counts(), traces)
        self.telling = None if watch is None else TurnObserver(watch, row)
        self.on_status: Callable[[], None] | None = None  # called when the session's status has changed
        self._growth = growth
        self._store = store

    @property
    def state(self) -> SessionState:
        return self.session.state

    @property
    def next_seq(self) -> Seq:
        return Seq(self.state.last_seq + 1)

    def seq_after(self, events_before: int) -> Seq:
        """The number that an event gets behind so many others of the next write."""
        return Seq(self.state.last_seq + 1 + events_before)

    async def write(
        self, said: Sequence[AgentEvent], changes: Sequence[Change] = (), **fields: Unpack[StateFields]
    ) -> None:
        """All of it on disk, then known to every follower; `fields` are further changes of the session's state.

        Raises:
            StorageDegraded: nothing was written, and nothing is shown.
            StorageFailed: likewise, and trying again will not help.
        """
        prepared = self.prepare(said, changes, **fields)
        if prepared.changes:
            with Span("append", self.new.session_id):
                await self._commit(prepared.changes)
        self.written(prepared)

    async def _commit(self, changes: Sequence[Change]) -> None:
        began_ns = time.monotonic_ns()
        try:
            await self._store.commit(changes)
        except (StorageDegraded, StorageFailed):
            self.turns.append_failed()
            raise
        self.turns.appended(began_ns)

    def prepare(
        self, said: Sequence[AgentEvent], changes: Sequence[Change] = (), **fields: Unpack[StateFields]
    ) -> PreparedWrite:
        """What `write` would commit, for a caller that commits it together with others and then says `written`."""
        tally = SessionCounters(self.state)
        stored: list[StoredEvent] = []
        blobs: list[Change] = []
        at_ns = now_ns() if said else 0
        for event in said:
            bounded, cut_off = bound(events.stamp(event, at_ns))
            kind = tally.number(bounded)
            stored.append(StoredEvent(Seq(bounded.sequence), kind, bounded.SerializeToString()))
            blobs.extend(AddBlob(self.key, blob) for blob in cut_off)
        state = tally.state(at_ns, fields)
        batch: list[Change] = [*changes, *blobs]
        if stored:
            batch.append(AppendEvents(self.key, tuple(stored)))
        if state != self.state:
            batch.append(SaveSession(self.key, state))
        return PreparedWrite(tuple(batch), state, tuple(stored), tally.usage)

    def written(self, prepared: PreparedWrite) -> None:
        """It is on disk: go on from there, and tell every follower."""
        before = self.state
        self.session = apply(self.session, prepared.changes)
        began_ns = time.monotonic_ns()
        self.tail.announce(prepared.stored)
        self.turns.announced(began_ns, len(prepared.stored))
        self.turns.written(before, prepared)
        if self.telling is not None:
            self.telling.written(before, prepared)
        if prepared.stored and self._growth is not None and self._growth.is_watched:
            self._growth.note(GrownLogs(self.new.session_id, self.key, before.last_seq))
        if self.on_status is not None and before.status is not self.state.status:
            self.on_status()

    async def write_surely(
        self, said: Sequence[AgentEvent], changes: Sequence[Change] = (), **fields: Unpack[StateFields]
    ) -> None:
        """Like `write`, for what has already happened: wait for room, and lose at most what cannot be stored."""
        try:
            await self._until_written(said, changes, fields)
        except StorageFailed:
            logger.exception("a batch was refused; writing its events one by one", extra=self._log_extra)
            for event in said:
                event.sequence = 0
                try:
                    await self._until_written([event], (), {})
                except StorageFailed:
                    await self._until_written([events.malformed("an event could not be stored")], (), {})
            for change in changes:
                try:
                    await self._until_written((), [change], {})
                except StorageFailed:
                    logger.exception("a %s was refused", type(change).__name__, extra=self._log_extra)
            await self._until_written((), (), fields)

    async def jump_after_epoch(self) -> None:
        """After a power cut or a restored backup no number is used again: leave room and say why."""
        if self.state.epoch == self._store.epoch or self.state.status is SessionStatus.CLOSED:
            return
        before = self.session
        jumped = replace(before.state, last_seq=Seq(before.state.last_seq + EPOCH_JUMP), epoch=self._store.epoch)
        self.session = replace(before, state=jumped)
        try:
            await self.write([events.gap(self._store.epoch_reason)])
        except BaseException:
            self.session = before
            raise

    async def _until_written(self, said: Sequence[AgentEvent], changes: Sequence[Change], fields: StateFields) -> None:
        while True:
            try:
                await self.write(said, changes, **fields)
            except StorageDegraded as trouble:
                self.degrade(trouble.message)
                await anyio.sleep(RETRY_AFTER_S)
            else:
                self._recover()
                return

    def note_disk(self, *, full: bool) -> None:
        """A full disk may silence an agent before there is anything to write: say so all the same."""
        if full:
            self.degrade(DISK_FULL)
        elif self.degraded_reason == DISK_FULL:
            self._recover()

    def degrade(self, reason: str) -> None:
        """Say that nothing can be written, and why; the next write that works takes it back."""
        if not self.degraded_reason:
            logger.error("the database cannot be written: %s", reason, extra=self._log_extra)
            posted = events.stamp(events.degraded(reason), now_ns())
            self.tail.post(_BOARD, posted.SerializeToString())  # who comes meanwhile hears it, too
        self.degraded_reason = reason
        for waiting in self.in_line:
            waiting.cancel()

    def _recover(self) -> None:
        if self.degraded_reason:
            self.degraded_reason = ""
            logger.warning("the database can be written again", extra=self._log_extra)
            self.tail.take_down(_BOARD)
            self.tail.say(events.stamp(events.degraded(""), now_ns()).SerializeToString())

    @property
    def _log_extra(self) -> dict[str, str]:
        return {"session_id": self.new.session_id}
