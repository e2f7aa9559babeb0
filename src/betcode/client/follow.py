"""Follow a session: every event once and in order, across reconnects."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing

import grpc

from betcode.client.backoff import Backoff
from betcode.client.connection import Connection, Link, LinkState, OnLink, wait_s
from betcode.client.errors import ClientError, as_client_errors
from betcode.v1.agent_pb2 import AgentEvent, FollowRequest, ResumeSessionRequest


class Position:
    """The last event that a client has seen: seen ones are dropped, and unnumbered ones do not move it."""

    __slots__ = ("after",)

    def __init__(self, after: int) -> None:
        self.after = after

    def fresh(self, events: Iterable[AgentEvent]) -> list[AgentEvent]:
        """Return the new events and move the position behind them."""
        after, fresh = self.after, []
        for event in events:
            sequence = event.sequence
            if sequence > after:
                after = sequence
                fresh.append(event)
            elif not sequence:
                fresh.append(event)
        self.after = after
        return fresh


class RetryPolicy:
    """Decides whether and when a broken stream is opened again."""

    def __init__(self, ladder: Backoff, on_link: OnLink) -> None:
        self._ladder = ladder
        self._on_link = on_link
        self._faults = 0  # of the daemon itself, since the last event

    def connected(self) -> None:
        """Reset the delays, because the stream is connected."""
        self._ladder.reset()
        self._on_link(Link(LinkState.CONNECTED))

    def progressed(self) -> None:
        """Reset the faults, because something new has arrived."""
        self._faults = 0

    def wait_after(self, error: ClientError) -> float:
        """Return the delay before the next attempt.

        Raises:
            ClientError: a retry would not help.
        """
        if not error.may_be_retried:
            raise error
        if error.status in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN):
            # A fault that returns on every attempt, without one event in between, is not a connection problem.
            self._faults += 1
            if self._faults > len(self._ladder.steps_ms):
                raise error
        wait = wait_s(self._ladder, error)
        self._on_link(Link(LinkState.BROKEN, retry_in_s=wait, error=error))
        return wait


async def follow(
    connection: Connection, session_id: str, after: int, on_link: OnLink, *, include_compacted: bool = False
) -> AsyncGenerator[AgentEvent, None]:
    """Yield every event after `after`, then live ones, until the session ends. Hold it in `aclosing`.

    Raises:
        ClientError: the daemon refuses, and a retry would not help.
    """
    batches = follow_batches(connection, session_id, after, on_link, include_compacted=include_compacted)
    async with aclosing(batches):
        async for batch in batches:
            for event in batch:
                yield event


async def follow_batches(
    connection: Connection, session_id: str, after: int, on_link: OnLink, *, include_compacted: bool = False
) -> AsyncGenerator[Sequence[AgentEvent], None]:
    """Yield the same events in batches of all that have arrived, never empty. Hold it in `aclosing`.

    Raises:
        ClientError: the daemon refuses, and a retry would not help.
    """
    position = Position(after)
    request = FollowRequest(session_id=session_id, include_compacted=include_compacted)
    retry_policy = RetryPolicy(connection.ladder(), on_link)
    may_batch = True
    while True:
        try:
            handshake = await connection.greeting.welcome(connection.metadata)
            one_stream = _one_stream if may_batch and handshake.has("event_batching") else _one_by_one
            async with aclosing(one_stream(connection, request, position, retry_policy)) as batches:
                async for batch in batches:
                    yield batch
            return
        except ClientError as error:
            connection.greeting.forget()
            if may_batch and error.is_unimplemented:  # disabled since the handshake
                may_batch = False
                continue
            wait = retry_policy.wait_after(error)
        await connection.sleep(wait)


async def _one_stream(
    connection: Connection, request: FollowRequest, position: Position, retry_policy: RetryPolicy
) -> AsyncGenerator[Sequence[AgentEvent], None]:
    request.from_sequence = position.after
    call = connection.stub.Follow(request, metadata=connection.metadata)
    try:
        async with as_client_errors():
            await call.wait_for_connection()
        retry_policy.connected()
        batches = aiter(call)
        while True:
            # Only the read is guarded: an exception of the caller at the yield is not ours.
            async with as_client_errors():
                batch = await anext(batches, None)
            if batch is None:
                return
            retry_policy.progressed()
            if fresh := position.fresh(batch.events):
                yield fresh
    finally:
        call.cancel()


async def _one_by_one(
    connection: Connection, request: FollowRequest, position: Position, retry_policy: RetryPolicy
) -> AsyncGenerator[Sequence[AgentEvent], None]:
    """Read the same events from a daemon without batches."""
    resume = ResumeSessionRequest(
        session_id=request.session_id, from_sequence=position.after, include_compacted=request.include_compacted
    )
    call = connection.stub.ResumeSession(resume, metadata=connection.metadata)
    try:
        async with as_client_errors():
            await call.wait_for_connection()
        retry_policy.connected()
        events = aiter(call)
        while True:
            async with as_client_errors():
                event = await anext(events, None)
            if event is None:
                return
            retry_policy.progressed()
            if fresh := position.fresh((event,)):
                yield fresh
    finally:
        call.cancel()
