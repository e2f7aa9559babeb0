"""The Converse stream: send, watch and answer on one connection. It owns a position in a log and nothing more."""

import contextlib
import logging

import anyio

from betcode.domain.errors import (
    BetcodeError,
    BudgetExceeded,
    InvalidRequest,
    NoInputLock,
    RateLimited,
    SequenceOutOfRange,
)
from betcode.domain.values.identifiers import Seq, SessionId
from betcode.engine import Engine
from betcode.server.auth.gate import Gate
from betcode.server.convert import views
from betcode.server.errors import InternalFault, error_event
from betcode.server.request_checks import DeprecatedUses, RequestInspector
from betcode.server.rpc import Caller, Context, decode, send_client_id, warnings_in
from betcode.server.services.agent import SUBMIT, AgentCalls
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)


class Conversations:
    """Opens and carries Converse streams."""

    def __init__(self, engine: Engine, calls: AgentCalls, gate: Gate, inspector: RequestInspector) -> None:
        self._engine = engine
        self._inspector = inspector
        self._calls = calls
        self._gate = gate

    async def converse(self, caller: Caller, context: Context) -> None:
        """Serve one stream to its end; an error is sent first as an event, then as the status."""
        stream = _Stream(context)
        caller = self._gate.recognise(caller)
        try:
            await send_client_id(caller, context)
            session, after = await self._opened(caller, stream, context)
            await stream.warn(caller.uses)
            await self._carry(caller, session, after, stream, context)
        except BetcodeError as error:
            await stream.say(error, is_fatal=True)
            raise
        except Exception:
            await stream.say(InternalFault(), is_fatal=True)
            raise

    async def _opened(self, caller: Caller, stream: "_Stream", context: Context) -> tuple[SessionId, Seq]:
        """The session of this stream, made or attached to, and the position its client has already."""
        data = await _next(context)
        first = v1.AgentRequest() if data is None else self._read(data, caller.uses)
        if first.WhichOneof("request") != "start":
            raise InvalidRequest("A conversation begins with start: send it first")
        start = first.start
        row, was_created = await self._calls.open(caller, start)
        session = stream.session = row.new.session_id
        if was_created:
            return session, Seq(0)
        if start.from_sequence > row.state.last_seq:
            raise SequenceOutOfRange(session, start.from_sequence, row.state.last_seq)
        await stream.send(views.attached(await self._engine.watching.standing(row)))
        for _, prompt in await self._engine.pending(session):
            is_gone = self._engine.agent_is_gone(session, prompt)
            for event in views.open_prompt_events(prompt, agent_is_gone=is_gone):
                await stream.send(event)
        return session, Seq(start.from_sequence)

    async def _carry(self, caller: Caller, session: SessionId, after: Seq, stream: "_Stream", context: Context) -> None:
        # Set when the client has closed its half. A client that vanished closes it too; then grpc ends this task,
        # and the turn continues without a listener.
        drain = anyio.Event()
        failure: BetcodeError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._take_requests, caller, session, stream, context, drain)
            try:
                follower = self._engine.watching.follow(session, after, caller.client, drain=drain)
                async with contextlib.aclosing(follower) as batches:
                    async for batch in batches:
                        for data in batch.events:
                            await stream.send(data)
            except BetcodeError as error:  # not raised in the group, which would wrap it
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _take_requests(
        self, caller: Caller, session: SessionId, stream: "_Stream", context: Context, drain: anyio.Event
    ) -> None:
        """Handle the client's requests one after the other; a failure is reported, and the stream continues."""
        while (data := await _next(context)) is not None:
            message_id = ""
            try:
                request = self._read(data, caller.uses)
                await stream.warn(caller.uses)
                message_id = request.message.idempotency_key
                await self._calls.act(await self._gate.check(SUBMIT, caller, request), session, request)
            except (BudgetExceeded, NoInputLock, RateLimited) as error:
                await stream.say(error, is_fatal=False, message_id=message_id)
            except BetcodeError as error:
                await stream.say(error, is_fatal=False)
            except Exception:
                logger.exception("a request of a conversation failed", extra={"session_id": session})
                await stream.say(InternalFault(), is_fatal=False)
        drain.set()

    def _read(self, data: bytes, uses: DeprecatedUses) -> v1.AgentRequest:
        request = decode(v1.AgentRequest, data)
        self._inspector.inspect(request, uses)
        return request


class _Stream:
    """The client's receiving end, written to by two tasks in turn."""

    def __init__(self, context: Context) -> None:
        self._write = context.write
        self._turn = anyio.Lock(fast_acquire=True)
        self.session: SessionId | str = ""

    async def send(self, data: bytes) -> None:
        async with self._turn:
            await self._write(data)

    async def warn(self, uses: DeprecatedUses) -> None:
        """Send warnings about deprecated parts that the client used."""
        for event in warnings_in(uses):
            await self.send(event.SerializeToString())

    async def say(self, error: BetcodeError, *, is_fatal: bool, message_id: str = "") -> None:
        event = error_event(error, is_fatal=is_fatal, session_id=self.session)
        if message_id:
            event.error.details["message_id"] = message_id  # which of those that were sent
        await self.send(event.SerializeToString())


async def _next(context: Context) -> bytes | None:
    """The next message of the client; None when it sends no more."""
    data: object = await context.read()
    return data if isinstance(data, bytes) else None
