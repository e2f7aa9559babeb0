"""The same API on TCP, for clients with the token. The health service needs no token."""

import asyncio
import errno
import hmac
import ipaddress
import logging
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import grpc
from grpc import aio

from betcode.config import token_file
from betcode.config.certificate import read_pair, valid_until
from betcode.config.load import WrongSetting
from betcode.config.settings import ListenSettings
from betcode.config.tcp_address import TcpAddress, parse_address
from betcode.domain.errors import Unauthenticated
from betcode.server.errors import status_of
from betcode.server.health.checks import Listener
from betcode.server.health.grpc_health import OPEN_METHODS, HealthBoard
from betcode.server.listeners.http2_sample import FRAME_OPTIONS
from betcode.server.listeners.reset_floods import ResetFloods
from betcode.server.listeners.socket_file import SocketTaken
from betcode.server.listeners.tcp_admission import Admission, ConnectionState
from betcode.server.rpc import Context, Handler

logger = logging.getLogger(__name__)

RecordCall: TypeAlias = "Callable[[Handler | None, ConnectionState], Handler | None]"
_SCHEME = "bearer"
_PROBE_BYTES = 16 * 1024
_STREAMS_LIMIT = 256  # of one connection
_IDLE_S = 600.0  # a connection without calls is closed
_GREETING_S = 10.0  # a connection that sends no HTTP/2, or does not finish its TLS handshake, is closed
_LEAST_PING_S = 5.0  # clients may ask so often whether we live
_LOG_REFUSED_EVERY_S = 60.0
_REFUSED_READ_S = 1.0
_REFUSED_READ = 4
_SOON = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class TcpListener:
    """The validated values that a listener needs."""

    address: TcpAddress
    token: str
    key_and_chain: tuple[bytes, bytes] | None


@dataclass(frozen=True, slots=True)
class TcpListeners:
    """The TCP addresses besides the unix socket; usually none."""

    settings: ListenSettings = field(default_factory=ListenSettings)
    main: TcpListener | None = None
    health: TcpAddress | None = None  # only the health service, for everyone


def prepare(settings: ListenSettings, config_dir: Path) -> TcpListeners:
    """Raises WrongSetting: a file that is needed cannot be used."""
    main = _main_listener(settings, config_dir) if settings.address else None
    return TcpListeners(settings, main, parse_address(settings.health_address) if settings.health_address else None)


def _main_listener(settings: ListenSettings, config_dir: Path) -> TcpListener:
    pair = None
    if settings.tls_cert:
        cert = Path(settings.tls_cert)
        pair = read_pair(cert, Path(settings.tls_key))
        _warn_before_it_ends(cert)
    path = Path(settings.token_file or config_dir / token_file.NAME)
    try:
        token_file.make_token(path)
        token = token_file.read_token(path)
    except token_file.WrongToken as wrong:
        raise WrongSetting(f"daemon.token_file: {wrong}") from None
    return TcpListener(parse_address(settings.address), token, pair)


def _warn_before_it_ends(cert: Path) -> None:
    try:
        remaining = valid_until(cert) - datetime.now(UTC)
    except (ValueError, LookupError, OSError):
        return
    if remaining < _SOON:
        logger.warning(
            "the certificate of daemon.tls_cert %s", "has expired" if remaining < timedelta() else "expires soon"
        )


@asynccontextmanager
async def serve_tcp(
    configured: TcpListeners,
    handlers: Sequence[grpc.GenericRpcHandler],
    board: HealthBoard,
    options: Sequence[tuple[str, int]],
    floods: ResetFloods,
) -> AsyncIterator[Sequence[Listener]]:
    """Listen until the block ends; open calls are then ended by their services. The main listener is first.

    Raises:
        SocketTaken: an address is not available.
    """
    listeners = []
    async with AsyncExitStack() as stack:
        limits = _options(configured.settings)
        if configured.main is not None:
            admission = Admission(configured.settings.connection_limit)
            check = TokenCheck(configured.main.token, admission.recording)
            server = aio.server(interceptors=(check,), options=[*options, *limits])
            server.add_generic_rpc_handlers((*handlers, board.limited_handlers()))
            pair = configured.main.key_and_chain
            listening = _listening(server, configured.main.address, pair, admission, floods)
            listeners.append(await stack.enter_async_context(listening))
        if configured.health is not None:
            admission = Admission(configured.settings.connection_limit)
            server = aio.server(
                interceptors=(OpenCalls(admission.recording),),
                options=[*limits, ("grpc.max_receive_message_length", _PROBE_BYTES)],
            )
            server.add_generic_rpc_handlers((board.probe_handlers(),))
            listening = _listening(server, configured.health, None, admission, floods)
            listeners.append(await stack.enter_async_context(listening))
        yield listeners


@asynccontextmanager
async def _listening(
    server: aio.Server,
    address: TcpAddress,
    key_and_chain: tuple[bytes, bytes] | None,
    admission: Admission,
    floods: ResetFloods,
) -> AsyncIterator[Listener]:
    port = address.port
    for host in await anyio.to_thread.run_sync(_hosts, address):
        one = TcpAddress(host, port)
        try:
            if key_and_chain is not None:
                port = server.add_secure_port(str(one), grpc.ssl_server_credentials([key_and_chain]))
            else:
                port = server.add_insecure_port(str(one))
        except RuntimeError:
            raise _cannot(address, await anyio.to_thread.run_sync(_why_not, one) or "gRPC refuses it") from None
    await server.start()
    bound = TcpAddress(address.host, port)
    logger.info("listening on TCP", extra={"address": str(bound), "tls": key_and_chain is not None})
    try:
        with floods.watching(port):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(admission.watch, port)
                yield Listener(str(bound), (_probed(bound.host), port), greets=False)
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await server.stop(None)


def _cannot(address: TcpAddress, why: str) -> SocketTaken:
    return SocketTaken(f"Cannot listen on {address}: {why}")


def _hosts(address: TcpAddress) -> Sequence[str]:
    """Return every address of this machine that a name resolves to.

    gRPC is satisfied with one of them. A program that listens on the same port of another address would receive the
    token from our clients.

    Raises:
        SocketTaken: the name does not resolve.
    """
    with suppress(ValueError):
        ipaddress.ip_address(address.host)
        return [address.host]
    try:
        found = {str(sockaddr[0]) for *_, sockaddr in socket.getaddrinfo(address.host, None, type=socket.SOCK_STREAM)}
    except (socket.gaierror, UnicodeError):
        raise _cannot(address, "the name does not resolve") from None
    if address.is_loopback:
        found |= {"127.0.0.1", "::1"}  # clients that use no resolver try both
    return sorted(host for host in found if not _why_not(TcpAddress(host, 0))) or sorted(found)


def _why_not(address: TcpAddress) -> str:
    """Return the system's error for an address, which gRPC does not report; empty if listening is possible."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in address.host else socket.AF_INET) as trial:
            trial.bind((address.host, address.port))
    except OSError as error:
        return {
            errno.EADDRINUSE: "another program uses it",
            errno.EADDRNOTAVAIL: "the address does not belong to this machine",
        }.get(error.errno or 0, error.strerror or str(error))
    return ""


def _probed(host: str) -> str:
    """Return the address to probe: a wildcard address is probed on the loopback."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def _options(settings: ListenSettings) -> list[tuple[str, int]]:
    return [
        ("grpc.keepalive_time_ms", int(settings.keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", int(settings.keepalive_timeout_s * 1000)),
        # The option that closes a connection that does not answer: the other one alone waits a minute.
        ("grpc.http2.ping_timeout_ms", int(settings.keepalive_timeout_s * 1000)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_ping_interval_without_data_ms", int(_LEAST_PING_S * 1000)),
        ("grpc.server_handshake_timeout_ms", int(_GREETING_S * 1000)),
        ("grpc.max_connection_idle_ms", int(_IDLE_S * 1000)),
        ("grpc.max_concurrent_streams", _STREAMS_LIMIT),
        ("grpc.max_allowed_incoming_connections", settings.connection_limit),
        *FRAME_OPTIONS,
    ]


def _record_nothing(handler: "Handler | None", _state: ConnectionState) -> "Handler | None":
    return handler


class OpenCalls(aio.ServerInterceptor):
    """Without a token: distinguishes connections that make calls from silent ones."""

    def __init__(self, recording: RecordCall) -> None:
        self._recording = recording

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["Handler | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        return self._recording(await continuation(handler_call_details), ConnectionState.OPEN_CALLS)


class TokenCheck(aio.ServerInterceptor):
    """Accepts calls whose metadata has the token."""

    def __init__(
        self, token: str, recording: RecordCall = _record_nothing, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._token = token.encode()
        self._recording = recording
        self._clock = clock
        self._logged_at = -_LOG_REFUSED_EVERY_S
        self._reading = asyncio.Semaphore(_REFUSED_READ)
        self._refusal: Handler = grpc.stream_stream_rpc_method_handler(self._refuse)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["Handler | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        details: Any = handler_call_details
        if self.counts(details.invocation_metadata):
            return self._recording(await continuation(handler_call_details), ConnectionState.AUTHENTICATED)
        if details.method in OPEN_METHODS:
            return self._recording(await continuation(handler_call_details), ConnectionState.OPEN_CALLS)
        return self._refusal

    def counts(self, metadata: Sequence[tuple[str, str | bytes]] | None) -> bool:
        """Return whether there is exactly one `authorization`, with the token."""
        given = [value for key, value in metadata or () if key == "authorization"]
        if len(given) != 1 or not isinstance(given[0], str):
            return False
        scheme, _, token = given[0].partition(" ")
        return scheme.lower() == _SCHEME and hmac.compare_digest(token.strip().encode(), self._token)

    async def _refuse(self, _: object, context: Context) -> None:
        now = self._clock()
        if now - self._logged_at >= _LOG_REFUSED_EVERY_S:
            self._logged_at = now
            logger.warning("a TCP client without the right token was refused", extra={"peer": context.peer()})
        # A client that is refused while it sends would see a fault instead of the reason; few are read, and not long.
        with suppress(TimeoutError):
            async with asyncio.timeout(_REFUSED_READ_S), self._reading:
                await context.read()
        await context.abort_with_status(status_of(Unauthenticated()))
