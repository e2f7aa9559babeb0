"""The standard health service, grpc.health.v1: one status per service name, and a stream of changes.

The implementation in gRPC for Python is not used: there, one watcher that disconnects stops updates for all others of
the same name, and one that does not read blocks every change of a status.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2

from betcode.server.auth.tcp_peer import tcp_peer
from betcode.server.rpc import Context, Handler
from betcode.util.signal import ChangeSignal

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICE_UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
SERVICE = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
OPEN_METHODS = frozenset({f"/{SERVICE}/Check", f"/{SERVICE}/Watch"})
_REQUEST_LIMIT_BYTES = 1024
_UNAUTHENTICATED_LIMIT = 100
_UNAUTHENTICATED_READS = 8
_READ_OF_ONE = 2
_UNAUTHENTICATED_S = 5.0


class HealthBoard:
    """The statuses by service name. A name that was never set is unknown."""

    def __init__(self) -> None:
        self._status: dict[str, int] = {}
        self._changed = ChangeSignal()
        self._closed = False
        self._unauthenticated = 0  # that watch
        self._reading = _Turns(_UNAUTHENTICATED_READS, _READ_OF_ONE)

    def show(self, statuses: Mapping[str, int]) -> None:
        """Replace the statuses; a closed board does not change."""
        if not self._closed:
            self._put(statuses)

    def close(self) -> None:
        """Set every service to not serving, because the daemon stops."""
        self._closed = True
        self._put(dict.fromkeys(self._status, NOT_SERVING))

    def _put(self, statuses: Mapping[str, int]) -> None:
        if any(self._status.get(name) != status for name, status in statuses.items()):
            self._status.update(statuses)
            self._changed.notify()

    def handlers(self) -> grpc.GenericRpcHandler:
        calls: dict[str, Handler] = {
            "Check": grpc.unary_unary_rpc_method_handler(self._check),
            "Watch": grpc.unary_stream_rpc_method_handler(self._watch),
        }
        return grpc.method_handlers_generic_handler(SERVICE, calls)

    def probe_handlers(self) -> grpc.GenericRpcHandler:
        """The same where strangers can send no more than a name."""
        calls: dict[str, Handler] = {
            "Check": grpc.unary_unary_rpc_method_handler(self._check),
            "Watch": grpc.unary_stream_rpc_method_handler(self._probe_watch),
        }
        return grpc.method_handlers_generic_handler(SERVICE, calls)

    def limited_handlers(self) -> grpc.GenericRpcHandler:
        """The same handlers for unauthenticated callers, who could send 50 MB as a name: few are read at once, and
        briefly.

        One address that begins calls and sends nothing does not delay those of others. A server-side stream is read
        only on request; a client with one request sees no difference.
        """
        calls: dict[str, Handler] = {
            "Check": grpc.stream_stream_rpc_method_handler(self._limited_check),
            "Watch": grpc.stream_stream_rpc_method_handler(self._limited_watch),
        }
        return grpc.method_handlers_generic_handler(SERVICE, calls)

    async def _limited_check(self, _: object, context: Context) -> None:
        await context.write(await self._status_of(await self._service_of(context), context))

    async def _limited_watch(self, _: object, context: Context) -> None:
        await self._refuse_too_many(context)
        with self._counted():
            await self._send_changes(await self._service_of(context), context)

    async def _probe_watch(self, data: bytes, context: Context) -> None:
        await self._refuse_too_many(context)
        with self._counted():
            await self._watch(data, context)

    async def _refuse_too_many(self, context: Context) -> None:
        if self._unauthenticated >= _UNAUTHENTICATED_LIMIT:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Too many clients watch the health of this daemon")

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._unauthenticated += 1
        try:
            yield
        finally:
            self._unauthenticated -= 1

    async def _service_of(self, context: Context) -> str | None:
        """Return the service name of the request and discard the rest: see `_check`."""
        peer = tcp_peer(context.peer())
        try:
            async with asyncio.timeout(_UNAUTHENTICATED_S), self._reading.turn(peer.group if peer else ""):
                data: object = await context.read()
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "The request did not arrive")
        return _read(data) if isinstance(data, bytes) else ""

    async def _check(self, data: bytes, context: Context) -> bytes:
        # The frames of a failed call remain until garbage is collected: none may hold a request, which may be large.
        service, data = _read(data), b""
        return await self._status_of(service, context)

    async def _watch(self, data: bytes, context: Context) -> None:
        service, data = _read(data), b""
        await self._send_changes(service, context)

    async def _status_of(self, service: str | None, context: Context) -> bytes:
        status = self._status.get(await _named(service, context))
        if status is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "No such service here")
        return _response(status)

    async def _send_changes(self, service: str | None, context: Context) -> None:
        name = await _named(service, context)
        sent: int | None = None
        while True:
            status = self._status.get(name, SERVICE_UNKNOWN)
            if status != sent:
                await context.write(_response(status))
                sent = status
            else:
                await self._changed.wait()


class _Turns:
    """So many at once, and fewer of them for any one address."""

    def __init__(self, together: int, of_one: int) -> None:
        self._together = asyncio.Semaphore(together)
        self._of_one = of_one
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, address: str) -> AsyncIterator[None]:
        own = self._own.setdefault(address, asyncio.Semaphore(self._of_one))
        async with own, self._together:
            yield


def _response(status: int) -> bytes:
    return health_pb2.HealthCheckResponse(status=status).SerializeToString()


async def _named(service: str | None, context: Context) -> str:
    if service is None:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The HealthCheckRequest cannot be read")
    return service


def _read(data: bytes) -> str | None:
    if len(data) > _REQUEST_LIMIT_BYTES:
        return None
    try:
        return health_pb2.HealthCheckRequest.FromString(data).service
    except DecodeError:
        return None
