"""The RPC adapter: the only module in which bytes become requests and errors become statuses.

Handlers are registered without serializers. Requests are parsed here, so that a request that cannot be parsed is
INVALID_ARGUMENT. Streams to clients are already bytes.
"""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError, Message
from grpc import aio

from betcode.domain.errors import BetcodeError, DaemonStopping, InvalidRequest
from betcode.domain.values.text import shortened
from betcode.engine import ClientName
from betcode.server.auth.tcp_peer import TcpPeer, tcp_peer
from betcode.server.errors import InternalFault, status_of
from betcode.server.open_streams import OpenStreams
from betcode.server.release import Release
from betcode.server.request_checks import DeprecatedUses, RequestInspector
from betcode.server.stream_trace import note_frame, traced
from betcode.server.value_checks import check_values
from betcode.telemetry.log_context import Span
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)

Context: TypeAlias = "aio.ServicerContext[bytes, bytes]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Speak: TypeAlias = Callable[[BetcodeError], grpc.Status]  # how an error is reported
RequestT = TypeVar("RequestT", bound=Message)
ResponseT = TypeVar("ResponseT", bound=Message)
ResultT = TypeVar("ResultT")

CLIENT_ID = "x-client-id"
CLIENT_TYPE = "x-client-type"
CLIENT_NAME = "x-client-name"
TICKET = "x-betcode-ticket"
FEATURES = "x-betcode-features"  # the names that a call counts on, with commas between them
DEPRECATIONS = "x-betcode-deprecation-bin"  # in the trailers of calls that end with one answer
_NAME_LIMIT = 128
_SHOWN_LIMIT = 64  # of a name for people
_FEATURES_LIMIT = 20
_LIST_LIMIT = 2048  # of several names
_GREETING_S = 1.0  # for a client that is being disconnected

# The call that a task handles: gRPC does not pass its name to the handler.
_called: ContextVar[str] = ContextVar("called", default="")


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller, as it identified itself."""

    client: ClientName
    ticket: str = ""
    owner: tuple[int, int, int] | None = None  # pid, start time and user of the process that has a stream's ticket
    person: ClientName | None = None  # its name, with its process, once it was found that it may act for a person
    relies_on: tuple[str, ...] = ()  # features that it named
    uses: DeprecatedUses = field(default_factory=DeprecatedUses)  # for deprecated parts
    tcp: TcpPeer | None = None  # its address; None: on the unix socket


def decode(kind: type[RequestT], data: bytes) -> RequestT:
    """The request that these bytes are.

    Raises:
        InvalidRequest: they are none, or a value in it is out of range.
    """
    try:
        request = kind.FromString(data)
    except DecodeError as error:
        reason = "a text is not valid UTF-8" if "UTF-8" in str(error) else "it is not a valid message"
        raise InvalidRequest(f"The {kind.DESCRIPTOR.name} cannot be read: {reason}") from None
    check_values(request)
    return request


def caller_of(context: Context) -> Caller:
    """The names a client gave in its metadata; one without an id gets one for this call."""
    names: dict[str, str] = {}
    for key, value in context.invocation_metadata() or ():
        if isinstance(value, str):
            names[key] = value[: _LIST_LIMIT if key == FEATURES else _NAME_LIMIT]
    client_id = names.get(CLIENT_ID) or f"client-{uuid.uuid4().hex[:12]}"
    feature_names = names.get(FEATURES, "")
    return Caller(
        ClientName(client_id, names.get(CLIENT_TYPE, ""), _shown(names.get(CLIENT_NAME, ""))),
        names.get(TICKET, ""),
        relies_on=tuple(filter(None, map(str.strip, feature_names.split(","))))[:_FEATURES_LIMIT]
        if feature_names
        else (),
        tcp=tcp_peer(context.peer()),
    )


def _shown(name: str) -> str:
    """A name for people, on one short line and without anything that could do more than be read."""
    return shortened(" ".join("".join(filter(str.isprintable, name)).split()), _SHOWN_LIMIT)


async def send_client_id(caller: Caller, context: Context) -> None:
    """Begin a stream with the client's id, because a client without one was assigned one.

    When cancelled, it still finishes: gRPC accepts no second beginning, and a stopping daemon must send its reason.
    """
    sending = asyncio.ensure_future(context.send_initial_metadata(((CLIENT_ID, caller.client.client_id),)))
    try:
        await asyncio.shield(sending)
    except asyncio.CancelledError:
        sending.add_done_callback(lambda sent: sent.cancelled() or sent.exception())  # no other task awaits its result
        await asyncio.wait((sending,), timeout=_GREETING_S)
        raise


def _work(kind: type[Message]) -> str:
    """Return the name under which the work of a call is logged."""
    return f"call.{kind.DESCRIPTOR.name.removesuffix('Request')}"


def warnings_in(uses: DeprecatedUses) -> list[v1.AgentEvent]:
    """Return warnings about deprecated parts that a stream used, as events of this stream only."""
    warnings = []
    for warning in uses.take():
        event = v1.AgentEvent(deprecation=warning)
        event.timestamp.GetCurrentTime()
        warnings.append(event)
    return warnings


def with_method_name(method: MethodDescriptor, handler: Handler) -> Handler:
    """Return the same handler; while it runs, the adapter knows the name of its method."""
    inner: Any = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream

    async def call(request: Any, context: Context) -> Any:
        _called.set(method.full_name)
        carried = inner(request, context)
        del request  # see _abort
        return await carried

    return handler_of(method, call)


def handler_of(method: MethodDescriptor, call: Callable[[Any, Context], Awaitable[Any]]) -> Handler:
    """A handler of the call's own shape."""
    match method.client_streaming, method.server_streaming:
        case False, False:
            return grpc.unary_unary_rpc_method_handler(call)
        case False, True:
            return grpc.unary_stream_rpc_method_handler(call)
        case True, False:
            return grpc.stream_unary_rpc_method_handler(call)
        case _:
            return grpc.stream_stream_rpc_method_handler(call)


class CallPolicy(Protocol):
    """Decides who may call what."""

    async def check(self, method: str, caller: Caller, request: Message | None = None) -> Caller:
        """The caller as the handler gets it. Raises AnswerRefused."""
        ...


class RpcAdapter:
    """Wraps handlers, and tracks open streams so that a stopping daemon can end them cleanly."""

    def __init__(
        self, release: Release | None = None, speak: Speak = status_of, admission: CallPolicy | None = None
    ) -> None:
        self._release = release or Release()
        self._speak = speak
        self.admission = admission  # None: everybody may call everything
        self.inspector = RequestInspector(self._release.features, self._release.counts)
        self._streams: set[asyncio.Task[Any]] = set()
        self._calls: set[asyncio.Task[Any]] = set()  # with one answer
        self._stopping = False
        self.connected = OpenStreams()

    def unary(self, kind: type[RequestT], handle: Callable[[Caller, RequestT], Awaitable[Message | bytes]]) -> Handler:
        """One request, one response, which may be bytes already."""
        work = _work(kind)

        async def call(data: bytes, context: Context) -> bytes:
            self._note_call()
            try:
                with Span(work, root=True):
                    self._refuse_if_stopping()
                    note_frame("in", data)
                    caller = self._identify(caller_of(context))
                    response = await self._handled(handle, caller, kind, data)
                    self._report_uses(caller, context)
                    answer = response if isinstance(response, bytes) else response.SerializeToString()
                    note_frame("out", answer)
                    return answer
            except Exception as error:  # noqa: BLE001 the top of a call: every error becomes a status
                data = b""  # see _abort
                await self._abort(context, error)

        return grpc.unary_unary_rpc_method_handler(call)

    def long_unary(self, kind: type[RequestT], handle: Callable[[Caller, RequestT], Awaitable[Message]]) -> Handler:
        """One request, one response that may take long: a stopping daemon ends it as it ends streams."""
        work = _work(kind)

        async def call(data: bytes, context: Context) -> bytes:
            with self._as_stream(caller := caller_of(context), work):
                try:
                    self._refuse_if_stopping()
                    note_frame("in", data)
                    caller = self._identify(caller)
                    response = await self._handled(handle, caller, kind, data)
                    self._report_uses(caller, context)
                    note_frame("out", answer := response.SerializeToString())
                    return answer
                except asyncio.CancelledError:
                    await self._abort_if_stopping(context)
                    raise
                except Exception as error:  # noqa: BLE001 the top of a call
                    await self._abort(context, error)

        return grpc.unary_unary_rpc_method_handler(call)

    def stream(self, kind: type[RequestT], handle: Callable[[Caller, RequestT, Context], Awaitable[None]]) -> Handler:
        """One request; the handler writes bytes to the context, one message at a time."""
        work = _work(kind)

        async def call(data: bytes, context: Context) -> None:
            with self._as_stream(caller := caller_of(context), work):
                try:
                    self._refuse_if_stopping()
                    note_frame("in", data)
                    caller = self._identify(caller)
                    request = self._read(kind, data, caller)
                    await handle(await self._admitted(caller, request), request, traced(context))
                    self._report_uses(caller, context)
                except asyncio.CancelledError:
                    await self._abort_if_stopping(context)
                    raise
                except Exception as error:  # noqa: BLE001 the top of a call
                    await self._abort(context, error)

        return grpc.unary_stream_rpc_method_handler(call)

    def bidirectional(self, handle: Callable[[Caller, Context], Awaitable[None]]) -> Handler:
        """Both ways at once; the handler reads from and writes to the context."""

        async def call(_: object, context: Context) -> None:
            with self._as_stream(caller := caller_of(context), "call.Converse"):
                try:
                    self._refuse_if_stopping()
                    await handle(self._identify(caller), traced(context))
                except asyncio.CancelledError:
                    await self._abort_if_stopping(context)
                    raise
                except Exception as error:  # noqa: BLE001 the top of a call
                    await self._abort(context, error)

        return grpc.stream_stream_rpc_method_handler(call)

    def client_stream(self, work: str, handle: Callable[[Caller, Context], Awaitable[Message]]) -> Handler:
        """Many requests, which the handler reads from the context, and one response."""

        async def call(_: object, context: Context) -> bytes:
            with self._as_stream(caller := caller_of(context), work):
                try:
                    self._refuse_if_stopping()
                    response = await handle(await self._admitted(self._identify(caller), None), context)
                    return response.SerializeToString()
                except asyncio.CancelledError:
                    await self._abort_if_stopping(context)
                    raise
                except Exception as error:  # noqa: BLE001 the top of a call
                    await self._abort(context, error)

        return grpc.stream_unary_rpc_method_handler(call)

    def refuse(self) -> None:
        """Let no further call begin."""
        self._stopping = True

    async def end_streams(self, within_s: float) -> None:
        """End every open stream with UNAVAILABLE, so that its client reconnects."""
        self._stopping = True
        streams = set(self._streams)
        for task in streams:
            task.cancel()
        if streams:
            await asyncio.wait(streams, timeout=within_s)

    async def end_calls(self, within_s: float) -> None:
        """Wait until every running call was answered."""
        if self._calls:
            await asyncio.wait(set(self._calls), timeout=within_s)

    def _identify(self, caller: Caller) -> Caller:
        """Return the caller by its metadata, if the features that the call needs are enabled.

        Raises:
            FeatureNotAvailable: one is not.
        """
        if not caller.client.client_type:
            introduced = self._release.introductions.type_of(caller.client.client_id)
            caller = replace(caller, client=replace(caller.client, client_type=introduced))
        self.inspector.admit(_called.get(), caller.relies_on, caller.uses)
        return caller

    async def _handled(
        self,
        handle: Callable[[Caller, RequestT], Awaitable[ResultT]],
        caller: Caller,
        kind: type[RequestT],
        data: bytes,
    ) -> ResultT:
        """Return the handler's result. The frame of the call itself must not hold the request, see _abort."""
        request = self._read(kind, data, caller)
        return await handle(await self._admitted(caller, request), request)

    async def _admitted(self, caller: Caller, request: Message | None) -> Caller:
        """Raises AnswerRefused."""
        return caller if self.admission is None else await self.admission.check(_called.get(), caller, request)

    def _read(self, kind: type[RequestT], data: bytes, caller: Caller) -> RequestT:
        request = decode(kind, data)
        self.inspector.inspect(request, caller.uses)
        return request

    def _report_uses(self, caller: Caller, context: Context) -> None:
        """Report deprecated parts in the trailers, for a call whose answers are not events."""
        warnings = caller.uses.take()
        if warnings:
            context.set_trailing_metadata(tuple((DEPRECATIONS, each.SerializeToString()) for each in warnings))

    def _refuse_if_stopping(self) -> None:
        if self._stopping:
            raise DaemonStopping

    def _note_call(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)  # after the answer was sent, which is not done here

    @contextmanager
    def _as_stream(self, caller: Caller, work: str) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        try:
            with Span(work, root=True), self.connected.here(caller.client):
                yield
        finally:
            self._streams.discard(task)

    async def _abort_if_stopping(self, context: Context) -> None:
        task = asyncio.current_task()
        if self._stopping and task is not None:
            task.uncancel()
            await self._abort(context, DaemonStopping())

    async def _abort(self, context: Context, error: Exception) -> NoReturn:
        if isinstance(error, aio.AbortError):
            raise error
        if isinstance(error, aio.InternalError):  # so gRPC calls it when a client disconnects during a send
            logger.info("a client disconnected before it was answered: %s", error)
            error = InternalFault()
        elif not isinstance(error, BetcodeError):
            logger.error("a call failed", exc_info=error)
            error = InternalFault()
        # The frames of a call that failed become garbage in a circle, which is collected only now and then. None of
        # them may hold the request, which can have 50 MB.
        error.__traceback__ = error.__cause__ = error.__context__ = None
        await context.abort_with_status(self._speak(error))
