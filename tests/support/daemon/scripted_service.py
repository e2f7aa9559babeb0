"""An AgentService that breaks where a test wants it to, on a real socket."""

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from grpc import aio
from grpc_status import rpc_status

from betcode.config.paths import Paths, choose_paths
from betcode.v1 import agent_pb2 as v1

Context = aio.ServicerContext[object, object]


@dataclass(frozen=True, slots=True)
class Break:
    """End a call with this status."""

    status: grpc.StatusCode
    code: str = ""
    details: dict[str, str] = field(default_factory=dict)

    async def happen(self, context: Context) -> None:
        """Abort the call, with an ErrorInfo where there is a code."""
        if not self.code:
            await context.abort(self.status, "scripted")
        packed = any_pb2.Any()
        packed.Pack(ErrorInfo(reason=self.code, domain="betcode", metadata=self.details))
        status = Status(code=self.status.value[0], message="scripted", details=[packed])
        await context.abort_with_status(rpc_status.to_status(status))


def text_event(number: int) -> v1.AgentEvent:
    return v1.AgentEvent(sequence=number, text_delta=v1.TextDelta(text=str(number), message_id="m"))


@dataclass
class ScriptedService:
    """Serves `log` event by event and does at each attempt what `script` says."""

    log: list[v1.AgentEvent] = field(default_factory=lambda: [text_event(number) for number in range(1, 11)])
    # For each attempt: how many events it serves, and how it breaks; None serves the rest and ends well.
    script: list[tuple[int, Break] | None] = field(default_factory=list)
    replies: list[Break | None] = field(default_factory=list)  # of Submit, attempt by attempt
    overlap: int = 0  # how many events too early a stream begins
    asked_from: list[int] = field(default_factory=list)
    submitted: list[v1.SubmitRequest] = field(default_factory=list)
    metadata: list[dict[str, str | bytes]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # message ids that came over Converse, attempt by attempt

    async def follow(self, request: v1.FollowRequest, context: Context) -> AsyncIterator[v1.AgentEventBatch]:
        self._note(context)
        self.asked_from.append(request.from_sequence)
        step = self.script.pop(0) if self.script else None
        begin = max(request.from_sequence - self.overlap, 0)
        events = [event for event in self.log if event.sequence > begin]
        for event in itertools.islice(events, step[0] if step else None):
            yield v1.AgentEventBatch(events=[event])
        if step:
            await step[1].happen(context)

    async def submit(self, request: v1.SubmitRequest, context: Context) -> v1.SubmitResponse:
        self._note(context)
        self.submitted.append(request)
        reply = self.replies.pop(0) if self.replies else None
        if reply:
            await reply.happen(context)
        return v1.SubmitResponse(session_id="s", message_id=request.request.message.idempotency_key, sequence=7)

    async def list_pending(self, _: v1.ListPendingRequest, context: Context) -> v1.ListPendingResponse:
        self._note(context)
        return v1.ListPendingResponse()

    async def converse(
        self, requests: AsyncIterator[v1.AgentRequest], context: Context
    ) -> AsyncIterator[v1.AgentEvent]:
        self._note(context)
        start = (await anext(requests)).start
        self.asked_from.append(start.from_sequence)
        step = self.script.pop(0) if self.script else None
        yield v1.AgentEvent(session_info=v1.SessionInfo(session_id=start.session_id, is_resumed=True))
        for event in self.log:
            if event.sequence > start.from_sequence:
                yield event
        acknowledged = 0
        async for request in requests:
            self.said.append(request.message.idempotency_key)
            if step and acknowledged >= step[0]:
                await step[1].happen(context)
            acknowledged += 1
            echo = v1.UserInput(content=request.message.content, message_id=request.message.idempotency_key)
            event = v1.AgentEvent(sequence=len(self.log) + 1, user_input=echo)
            self.log.append(event)
            yield event

    def handler(self) -> grpc.GenericRpcHandler:
        """What a server registers."""
        event = v1.AgentEvent.SerializeToString
        handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Follow": grpc.unary_stream_rpc_method_handler(
                self.follow, v1.FollowRequest.FromString, v1.AgentEventBatch.SerializeToString
            ),
            "Submit": grpc.unary_unary_rpc_method_handler(
                self.submit, v1.SubmitRequest.FromString, v1.SubmitResponse.SerializeToString
            ),
            "ListPending": grpc.unary_unary_rpc_method_handler(
                self.list_pending, v1.ListPendingRequest.FromString, v1.ListPendingResponse.SerializeToString
            ),
            "Converse": grpc.stream_stream_rpc_method_handler(self.converse, v1.AgentRequest.FromString, event),
        }
        return grpc.method_handlers_generic_handler("betcode.v1.AgentService", handlers)

    def _note(self, context: Context) -> None:
        self.metadata.append(dict(context.invocation_metadata() or ()))


@dataclass
class Waits:
    """A sleep that takes no time and remembers how long it should have taken."""

    seconds: list[float] = field(default_factory=list)
    then: Callable[[], None] = lambda: None

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.then()


@asynccontextmanager
async def scripted(root: Path, service: ScriptedService) -> AsyncIterator[Paths]:
    """The service at a socket of its own."""
    paths = choose_paths({}, state_dir=root, config_dir=root)
    server = aio.server()
    server.add_generic_rpc_handlers((service.handler(),))
    server.add_insecure_port(f"unix:{paths.socket}")
    await server.start()
    try:
        yield paths
    finally:
        await server.stop(None)
