"""A Converse stream that reconnects: unacknowledged messages are sent again under the same id."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

import anyio
import grpc

from betcode.client.connection import Connection, OnLink
from betcode.client.errors import ClientError, as_client_errors
from betcode.client.follow import Position, RetryPolicy
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.error_codes import ErrorCode
from betcode.domain.values.identifiers import MessageId, new_message_id
from betcode.v1.agent_pb2 import AgentEvent, AgentRequest, CancelRequest, StartConversation, UserMessage

Call = grpc.aio.StreamStreamCall[AgentRequest, AgentEvent]

_REFUSED = frozenset(
    {ErrorCode.NO_INPUT_LOCK, ErrorCode.BUDGET_EXCEEDED, ErrorCode.RATE_LIMITED}
)  # until a person acts


class ConversationStream:
    """Sends messages and yields events on one stream. The caller must read `events`, which runs the stream."""

    def __init__(self, connection: Connection, session_id: str, after: int, on_link: OnLink) -> None:
        self.session_id = session_id
        self._connection = connection
        self._position = Position(after)
        self._on_link = on_link
        self._unacknowledged: dict[MessageId, AgentRequest] = {}
        self._call: Call | None = None
        self._finished = False
        self._writing = anyio.Lock()  # gRPC allows one write at a time

    @property
    def unacknowledged(self) -> tuple[MessageId, ...]:
        """The messages that the daemon has not confirmed as stored."""
        return tuple(self._unacknowledged)

    async def say(self, text: str, attachments: Sequence[AttachedFile] = ()) -> MessageId:
        """Send a message, again after a disconnect, until its user_input event arrives.

        Without the input lock, or if the budget or a rate limit refuses the message, an error event with its id arrives
        instead.
        """
        message_id = new_message_id()
        request = AgentRequest(message=user_message(message_id, text, attachments))
        self._unacknowledged[message_id] = request
        await self._write(request)
        return message_id

    async def cancel(self, *, cancel_queued: bool = False) -> None:
        """Interrupt the open turn. The call is not repeated after a disconnect."""
        await self._write(AgentRequest(cancel=CancelRequest(cancel_queued=cancel_queued)))

    async def finish(self) -> None:
        """Send nothing more; `events` ends after the open turn."""
        self._finished = True
        async with self._writing:
            if self._call is not None:
                await self._call.done_writing()

    async def events(self) -> AsyncGenerator[AgentEvent, None]:
        """Yield every event once and in order, across reconnects. Hold it in `aclosing`.

        Raises:
            ClientError: the daemon refuses, and a retry would not help.
        """
        retry_policy = RetryPolicy(self._connection.ladder(), self._on_link)
        while True:
            try:
                async with aclosing(self._one_stream(retry_policy)) as events:
                    async for event in events:
                        yield event
                return
            except ClientError as error:
                self._connection.greeting.forget()
                wait = retry_policy.wait_after(error)
            await self._connection.sleep(wait)

    async def _one_stream(self, retry_policy: RetryPolicy) -> AsyncGenerator[AgentEvent, None]:
        await self._connection.greeting.welcome(self._connection.metadata)
        call = await self._open()
        try:
            first = True
            while True:
                async with as_client_errors():
                    event = await call.read()
                if not isinstance(event, AgentEvent):
                    return
                if first:  # an attached stream begins with SessionInfo at once
                    retry_policy.connected()
                    first = False
                if event.sequence:
                    retry_policy.progressed()
                for fresh in self._position.fresh((event,)):
                    if fresh.WhichOneof("event") == "user_input":
                        self._unacknowledged.pop(MessageId(fresh.user_input.message_id), None)
                    elif fresh.error.code in _REFUSED:
                        # The message was refused and reported: sending it again later would surprise its author.
                        self._unacknowledged.pop(MessageId(fresh.error.details.get("message_id", "")), None)
                    yield fresh
        finally:
            self._call = None
            call.cancel()

    async def _open(self) -> Call:
        metadata = await self._connection.person_metadata(or_agent=True)
        call = self._connection.stub.Converse(metadata=metadata)
        start = StartConversation(session_id=self.session_id, from_sequence=self._position.after)
        async with self._writing:
            self._call = call
            for request in (AgentRequest(start=start), *self._unacknowledged.values()):
                await _try_to_write(call, request)
            if self._finished:
                await call.done_writing()
        return call

    async def _write(self, request: AgentRequest) -> None:
        async with self._writing:
            if self._call is not None:
                await _try_to_write(self._call, request)


async def _try_to_write(call: Call, request: AgentRequest) -> None:
    """Write, unless the stream is broken: its reader gets the error, and the next stream sends what is missing."""
    with suppress(ClientError, asyncio.InvalidStateError):
        async with as_client_errors():
            await call.write(request)


def user_message(message_id: MessageId, text: str, attachments: Sequence[AttachedFile]) -> UserMessage:
    """Build the message for the daemon."""
    message = UserMessage(content=text, idempotency_key=message_id)
    for file in attachments:
        message.attachments.add(filename=file.filename, mime_type=file.mime_type, data=file.data)
    return message
