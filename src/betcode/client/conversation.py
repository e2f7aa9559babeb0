"""A Converse stream that reconnects: unacknowledged messages are sent again under the same id."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

import anyio
import grpc

from betcode.client.connection import Connection, OnLink
from betcode.client.errors import ClientError, as_client_errors
from betcode.client.follow import Perseverance, Position
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.error_codes import ErrorCode
from betcode.domain.values.identifiers import MessageId, new_message_id
from betcode.v1.agent_pb2 import AgentEvent, AgentRequest, CancelRequest, StartConversation, UserMessage

Call = grpc.aio.StreamStreamCall[AgentRequest, AgentEvent]

_REFUSED = frozenset(
    {ErrorCode.NO_INPUT_LOCK, ErrorCode.BUDGET_EXCEEDED, ErrorCode.RATE_LIMITED}
)  # until a person does something about it


class ConversationStream:
    """Type and watch on one stream. Somebody must read `events`: that is what keeps the stream alive."""

    def __init__(self, connection: Connection, session_id: str, after: int, on_link: OnLink) -> None:
        self.session_id = session_id
        self._connection = connection
        self._position = Position(after)
        self._on_link = on_link
        self._unacknowledged: dict[MessageId, AgentRequest] = {}
        self._call: Call | None = None
        self._finished = False
        self._writing = anyio.Lock()  # gRPC takes one write at a time

    @property
    def unacknowledged(self) -> tuple[MessageId, ...]:
        """The messages that the daemon has not yet said it has on disk."""
        return tuple(self._unacknowledged)

    async def say(self, text: str, attachments: Sequence[AttachedFile] = ()) -> MessageId:
        """Send a message; it is kept, and sent again after a break, until its user_input event was seen.

        Without the input lock, or where the session's budget or a rate limit refuses it, an error event with its id
        comes instead.
        """
        message_id = new_message_id()
        request = AgentRequest(message=user_message(message_id, text, attachments))
        self._unacknowledged[message_id] = request
        await self._write(request)
        return message_id

    async def cancel(self, *, cancel_queued: bool = False) -> None:
        """Interrupt the open turn. Meant for now: it is not repeated after a break."""
        await self._write(AgentRequest(cancel=CancelRequest(cancel_queued=cancel_queued)))

    async def finish(self) -> None:
        """Say nothing more: the open turn is read to its end, and then `events` ends."""
        self._finished = True
        async with self._writing:
            if self._call is not None:
                await self._call.done_writing()

    async def events(self) -> AsyncGenerator[AgentEvent, None]:
        """Every event once and in order, over as many streams as it takes. Hold it in `aclosing`.

        Raises:
            ClientError: the daemon refuses, and trying again would not help.
        """
        perseverance = Perseverance(self._connection.ladder(), self._on_link)
        while True:
            try:
                async with aclosing(self._one_stream(perseverance)) as events:
                    async for event in events:
                        yield event
                return
            except ClientError as error:
                self._connection.greeting.forget()
                wait = perseverance.wait_after(error)
            await self._connection.sleep(wait)

    async def _one_stream(self, perseverance: Perseverance) -> AsyncGenerator[AgentEvent, None]:
        await self._connection.greeting.welcome(self._connection.metadata)
        call = await self._open()
        try:
            first = True
            while True:
                async with as_client_errors():
                    event = await call.read()
                if not isinstance(event, AgentEvent):
                    return
                if first:  # an attached stream begins with SessionInfo, at once
                    perseverance.connected()
                    first = False
                if event.sequence:
                    perseverance.progressed()
                for fresh in self._position.fresh((event,)):
                    if fresh.WhichOneof("event") == "user_input":
                        self._unacknowledged.pop(MessageId(fresh.user_input.message_id), None)
                    elif fresh.error.code in _REFUSED:
                        # Refused and said so: sent again later it would surprise whoever typed it.
                        self._unacknowledged.pop(MessageId(fresh.error.details.get("message_id", "")), None)
                    yield fresh
        finally:
            self._call = None
            call.cancel()

    async def _open(self) -> Call:
        metadata = await self._connection.metadata_of_a_person(or_agent=True)
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
    """On a broken stream this does nothing: its reader is told why, and the next one says what was not heard."""
    with suppress(ClientError, asyncio.InvalidStateError):
        async with as_client_errors():
            await call.write(request)


def user_message(message_id: MessageId, text: str, attachments: Sequence[AttachedFile]) -> UserMessage:
    """The message as the daemon takes it."""
    message = UserMessage(content=text, idempotency_key=message_id)
    for file in attachments:
        message.attachments.add(filename=file.filename, mime_type=file.mime_type, data=file.data)
    return message
