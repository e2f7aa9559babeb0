"""A follower is a position in a log: replay, catching up and live are one loop."""

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from betcode.domain.store.rows import Batch, ConnectedClient
from betcode.domain.store.store_ports import EventStore
from betcode.domain.values.identifiers import Seq
from betcode.engine.client_name import ClientName, Present
from betcode.engine.context import EngineContext
from betcode.engine.core import events
from betcode.engine.fault_points import FaultPoint
from betcode.engine.shell.input_lock_service import InputLockService
from betcode.engine.shell.session_tasks import SessionTasks
from betcode.engine.shell.writer import SessionWriter
from betcode.util.wall_clock import now_ns

BATCH_BYTES = 128 * 1024
# From the log each reads for itself, and one that stalls keeps what it was given, four times over with the network's
# copies; half as much costs a replay next to nothing.
LOG_BATCH_BYTES = 64 * 1024
LAGGING_PAST = 1024  # events behind the newest
CROWD = 8  # with more followers than this, each sends at most once a tick
TICK_S = 0.02
PRESENCE_EVERY_S = 0.1  # and longer in a crowd: each presence names everyone and goes to everyone
PRESENCE_EACH_S = 0.005
_CHECK_EVERY = 256  # events between two looks at who lags
BOARD = "presence"


@dataclass(slots=True, eq=False)
class _Follower:
    client: ClientName
    after: Seq
    lagging: bool = False


@dataclass(slots=True)
class Followers:
    """Everyone who follows one session."""

    context: EngineContext
    writer: SessionWriter
    input_lock: InputLockService
    tasks: SessionTasks
    present: set[_Follower] = field(default_factory=set)
    _streams: dict[str, int] = field(default_factory=dict)  # by client
    _checked: int = 0
    _presence_due: bool = False  # somebody will say it
    _presence_said: float = -1.0

    async def follow(
        self,
        store: EventStore,
        after: Seq,
        client: ClientName,
        finished: Callable[[], bool],
    ) -> AsyncGenerator[Batch, None]:
        """Every event after `after`, once and in order, in batches, however slow the caller is; `finished` ends it."""
        tail = self.writer.tail
        heard, read, begun = tail.asides_said, 0, False
        with self._coming_and_going(client, after) as follower:
            while True:
                asides = tail.asides_since(heard)
                if asides:
                    heard = tail.asides_said
                    yield Batch(Seq(0), after, asides)
                if begun and tail.posted > read and not tail.closed:  # a stream begins with history
                    posts, read = tail.posted_since(read), tail.posted
                    yield Batch(Seq(0), after, posts)
                batch = tail.since(after, BATCH_BYTES)
                if batch is None:
                    batch = await store.read_events(self.writer.key, after, LOG_BATCH_BYTES)
                begun = True
                if batch is not None and batch.events:
                    began_ns = time.monotonic_ns()
                    yield batch  # comes back when the client has it
                    self.writer.turns.sent(began_ns, len(batch.events))
                    follower.after = after = batch.last
                    if after >= tail.head:
                        self._caught_up(follower)
                        await self._pace(client)
                elif tail.closed or finished():
                    return
                elif tail.head <= after and tail.asides_said <= heard and tail.posted <= read:
                    await tail.change()

    @property
    def is_watched(self) -> bool:
        """Whether somebody sees what comes."""
        return any(follower.client.is_watching for follower in self.present)

    def present_clients(self) -> tuple[Present, ...]:
        """Who follows; a client with several streams is where the one stands that is furthest."""
        head = self.writer.tail.head
        furthest: dict[str, _Follower] = {}
        for follower in self.present:
            known = furthest.get(follower.client.client_id)
            if known is None or follower.after > known.after:
                furthest[follower.client.client_id] = follower
        return tuple(Present(each.client, max(0, head - each.after), each.lagging) for each in furthest.values())

    def look_for_laggards(self) -> None:
        """Say who has fallen behind; called after events were announced."""
        head = self.writer.tail.head
        if head - self._checked < _CHECK_EVERY:
            return
        self._checked = head
        newly = [who for who in self.present if not who.lagging and head - who.after > LAGGING_PAST]
        for who in newly:
            who.lagging = True
        if newly:
            self._presence_changed()

    @contextmanager
    def _coming_and_going(self, client: ClientName, after: Seq) -> Iterator[_Follower]:
        head, client_id = self.writer.tail.head, client.client_id
        follower = _Follower(client, after, head - after > LAGGING_PAST)
        with self.input_lock.here(client):
            self.present.add(follower)
            self._streams[client_id] = self._streams.get(client_id, 0) + 1
            if self._streams[client_id] == 1:
                now = ConnectedClient(client_id, client.client_type, now_ns())
                self.context.roster.note_came(self.writer.key, now)
            self._presence_changed()
            try:
                yield follower
            finally:
                self.present.discard(follower)
                self._streams[client_id] -= 1
                if not self._streams[client_id]:
                    del self._streams[client_id]
                    self.context.roster.note_left(self.writer.key, client_id)
                self._presence_changed()

    def _caught_up(self, follower: _Follower) -> None:
        if follower.lagging:
            follower.lagging = False
            self._presence_changed()

    def _presence_changed(self) -> None:
        """Say it now, or together with what else changes within a moment."""
        if self._presence_due or not self.present:
            return
        pause = max(PRESENCE_EVERY_S, PRESENCE_EACH_S * len(self.present))
        wait = self._presence_said + pause - anyio.current_time() if self._presence_said >= 0 else 0.0
        if wait <= 0:
            self._say_presence()
        else:
            self._presence_due = True
            self.tasks.start_soon(FaultPoint.PRESENCE, self._say_presence_after, wait)

    def resume(self) -> None:
        """After the session's tasks were cancelled: say what they were about to say."""
        self._presence_due = False
        self._presence_changed()

    async def _say_presence_after(self, wait: float) -> None:
        await anyio.sleep(wait)
        self._presence_due = False
        if self.present:
            self._say_presence()

    def _say_presence(self) -> None:
        self._presence_said = anyio.current_time()
        presence = events.stamp(events.presence(self.present_clients()), now_ns())
        self.writer.tail.post(BOARD, presence.SerializeToString())

    async def _pace(self, client: ClientName) -> None:
        """In a crowd all wait for the same tick, so that they share one batch and its bytes; not who types."""
        if len(self.present) > CROWD and client.client_id != self.input_lock.holder.client_id:
            await anyio.sleep(TICK_S - anyio.current_time() % TICK_S)
