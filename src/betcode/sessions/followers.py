"""A follower is a position in a log: replay, catching up and live are one loop."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

import anyio

from betcode.domain.identifiers import Seq
from betcode.domain.ports import Store
from betcode.domain.rows import Batch
from betcode.sessions import events
from betcode.sessions.writer import SessionWriter

BATCH_BYTES = 128 * 1024
# From the log each reads for itself, and one that stalls keeps what it was given, four times over with the network's
# copies; half as much costs a replay next to nothing.
LOG_BATCH_BYTES = 64 * 1024
LAGGING_PAST = 1024  # events behind the newest
CROWD = 8  # with more followers than this, each sends at most once a tick
TICK_S = 0.02
_CHECK_EVERY = 256  # events between two looks at who lags


@dataclass(frozen=True, slots=True)
class ClientName:
    """Who is connected, as it names itself."""

    client_id: str
    client_type: str = ""


@dataclass(slots=True, eq=False)
class _Follower:
    client: ClientName
    after: Seq
    lagging: bool = False


@dataclass(slots=True)
class Followers:
    """Everyone who follows one session."""

    writer: SessionWriter
    present: set[_Follower] = field(default_factory=set)
    _checked: int = 0

    async def follow(
        self,
        store: Store,
        after: Seq,
        client: ClientName,
        finished: Callable[[], bool],
    ) -> AsyncGenerator[Batch, None]:
        """Every event after `after`, once and in order, in batches, however slow the caller is; `finished` ends it."""
        tail = self.writer.tail
        heard = tail.asides_said
        follower = _Follower(client, after)
        self.present.add(follower)
        try:
            while True:
                asides = tail.asides_since(heard)
                if asides:
                    heard = tail.asides_said
                    yield Batch(Seq(0), after, asides)
                batch = tail.since(after, BATCH_BYTES)
                if batch is None:
                    batch = await store.read_events(self.writer.key, after, LOG_BATCH_BYTES)
                if batch is not None and batch.events:
                    yield batch
                    follower.after = after = batch.last
                    if after >= tail.head:
                        self._caught_up(follower)
                        await self._pace()
                elif tail.closed or finished():
                    return
                elif tail.head <= after and tail.asides_said <= heard:
                    await tail.change()
        finally:
            self.present.discard(follower)

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
            self._say_presence()

    def _caught_up(self, follower: _Follower) -> None:
        if follower.lagging:
            follower.lagging = False
            self._say_presence()

    def _say_presence(self) -> None:
        head = self.writer.tail.head
        clients = [
            (who.client.client_id, who.client.client_type, max(0, head - who.after), who.lagging)
            for who in self.present
        ]
        self.writer.tail.say(events.presence(clients).SerializeToString())

    async def _pace(self) -> None:
        """In a crowd all wait for the same tick, so that they share one batch and its bytes."""
        if len(self.present) > CROWD:
            await anyio.sleep(TICK_S - anyio.current_time() % TICK_S)
