"""The channel to one daemon, the client's identity on it, and retries of calls."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import anyio
import grpc
from google.protobuf.message import DecodeError

from betcode._version import __version__
from betcode.client.address import grpc_target, reachable
from betcode.client.backoff import LADDER_MS, Backoff
from betcode.client.errors import ClientError, as_client_errors
from betcode.client.handshake import Greeting, Handshake, Metadata
from betcode.client.remote import keepalive, open_remote
from betcode.client.ticket import TicketCache
from betcode.config.paths import Paths
from betcode.v1 import version_pb2
from betcode.v1.agent_pb2_grpc import AgentServiceStub

if TYPE_CHECKING:
    from betcode.v1.agent_pb2_grpc import AgentServiceAsyncStub  # exists only in the stub files

Request_contra = TypeVar("Request_contra", contravariant=True)
Response_co = TypeVar("Response_co", covariant=True)
Sleep = Callable[[float], Awaitable[None]]

OnDeprecation = Callable[[version_pb2.DeprecationWarning], None]

_CALL_TIMEOUT_S = 60.0
_DEPRECATIONS = "x-betcode-deprecation-bin"  # in the trailers of unary calls
_LONGEST_WAIT_S = 10.0
_CALL_RETRIES = 6  # 3.1 s in all: a daemon that restarts is back by then
_CHANNEL_OPTIONS = (
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.max_send_message_length", -1),  # the daemon rejects long messages with a sentence
    # Backoff decides about retries; the channel's own backoff must not add to it.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 100),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
ALIVE_S = 5.0  # after this silence the daemon is pinged, and has the same time to answer


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """The identity that other clients see."""

    client_id: str = field(default_factory=lambda: secrets.token_hex(6))
    client_type: str = "library"
    client_name: str = ""  # for people: which of their screens it is
    version: str = __version__


class LinkState(Enum):
    CONNECTED = "connected"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Link:
    """The state of a stream: connected, or lost with a retry in a while."""

    state: LinkState
    retry_in_s: float = 0.0
    error: ClientError | None = None


OnLink = Callable[[Link], None]


def ignore_link(_link: Link) -> None:
    """Ignore changes of the connection."""


def ignore_deprecation(_warning: version_pb2.DeprecationWarning) -> None:
    """Ignore deprecation warnings."""


class UnaryMethod(Protocol[Request_contra, Response_co]):
    def __call__(
        self, request: Request_contra, /, *, timeout: float | None = None, metadata: Metadata | None = None
    ) -> Awaitable[Response_co]: ...


@dataclass(frozen=True, slots=True)
class Connection:
    """The channel and metadata of every call. Only its `sleep` and `ladder` use time."""

    channel: grpc.aio.Channel
    stub: "AgentServiceAsyncStub"
    identity: ClientIdentity
    ticket_socket: Path
    ladder_ms: Sequence[int]
    sleep: Sleep
    greeting: Greeting
    on_deprecation: OnDeprecation = ignore_deprecation
    token: str = ""  # for a daemon that is reached over TCP
    tickets: TicketCache = field(default_factory=TicketCache)

    @property
    def metadata(self) -> Metadata:
        who = self.identity
        named: Metadata = (("x-client-id", who.client_id), ("x-client-type", who.client_type))
        if self.token:
            named = (*named, ("authorization", f"Bearer {self.token}"))
        # Headers are printable ASCII; other characters of a name are escaped.
        shown = "".join(letter if " " <= letter <= "~" else "?" for letter in who.client_name)
        return (*named, ("x-client-name", shown)) if shown else named

    def ladder(self) -> Backoff:
        return Backoff(self.ladder_ms)

    async def call(
        self,
        method: UnaryMethod[Request_contra, Response_co],
        request: Request_contra,
        *,
        retries: int = _CALL_RETRIES,
        timeout_s: float = _CALL_TIMEOUT_S,
        with_ticket: bool = False,
    ) -> Response_co:
        """Call the method and return its response, with retries if they can help.

        Raises:
            ClientError: it failed permanently, or still after `retries` further attempts.
        """
        ladder = self.ladder()
        while True:
            metadata = await self.person_metadata() if with_ticket else self.metadata
            try:
                async with as_client_errors():
                    call = method(request, timeout=timeout_s, metadata=metadata)
                    response = await call
                    await self._read_trailers(call)
                    return response
            except ClientError as error:
                if not error.may_be_retried or ladder.climbed >= retries:
                    raise
                if (error.retry_after_s or 0.0) > _LONGEST_WAIT_S:
                    raise  # the daemon asks for a longer wait than a person accepts without a message
                wait = wait_s(ladder, error)
            await self.sleep(wait)

    async def greeted(self) -> Handshake:
        """Return the result of the handshake; requested once, and again after a disconnect.

        Raises:
            Outdated: the daemon does not accept this client.
            ClientError: nobody answers, even after some retries.
        """
        ladder = self.ladder()
        while True:
            try:
                return await self.greeting.welcome(self.metadata)
            except ClientError as error:
                if not error.may_be_retried or ladder.climbed >= _CALL_RETRIES:
                    raise
                wait = wait_s(ladder, error)
            await self.sleep(wait)

    async def _read_trailers(self, call: object) -> None:
        if isinstance(call, grpc.aio.Call):
            for key, value in await call.trailing_metadata() or ():
                if key == _DEPRECATIONS and isinstance(value, bytes):
                    with suppress(DecodeError):
                        self.on_deprecation(version_pb2.DeprecationWarning.FromString(value))

    async def person_metadata(self, *, or_agent: bool = False) -> Metadata:
        """Return the metadata with a ticket, which proves that no agent calls.

        With `or_agent`, an agent may call without one.

        Raises:
            Refused: this process runs inside an agent.
        """
        if self.token:
            return self.metadata  # tickets are only issued on the daemon's own machine
        try:
            ticket = await self.tickets.get(self.ticket_socket)
        except ClientError:
            if not or_agent:
                raise
            return self.metadata
        return (*self.metadata, ("x-betcode-ticket", ticket)) if ticket else self.metadata


def wait_s(ladder: Backoff, error: ClientError) -> float:
    """Return the next delay of the ladder, or the daemon's retry delay if that is longer."""
    return max(ladder.next_s(), error.retry_after_s or 0.0)


@asynccontextmanager
async def open_connection(
    paths: Paths,
    identity: ClientIdentity,
    *,
    ladder_ms: Sequence[int] = LADDER_MS,
    sleep: Sleep = anyio.sleep,
    on_deprecation: OnDeprecation = ignore_deprecation,
    alive_s: float = ALIVE_S,
) -> AsyncIterator[Connection]:
    """Open a channel to the daemon at these paths; nothing is sent before the first call.

    While a stream is open, a local daemon that does not answer for twice `alive_s`, because it is stopped or stuck,
    counts as disconnected.

    Raises:
        Refused: a remote daemon cannot be called safely.
    """
    with ExitStack() as stack:
        if paths.remote is not None:
            token, channel = open_remote(paths.remote, _CHANNEL_OPTIONS)
            short_ticket = paths.ticket_socket
        else:
            token = ""
            channel = grpc.aio.insecure_channel(
                grpc_target(stack.enter_context(reachable(paths.socket))),
                options=(*_CHANNEL_OPTIONS, *keepalive(alive_s, alive_s)),
            )
            short_ticket = stack.enter_context(reachable(paths.ticket_socket))
        try:
            greeting = Greeting(channel, identity.version, identity.client_type)
            stub = AgentServiceStub(channel)
            yield Connection(channel, stub, identity, short_ticket, ladder_ms, sleep, greeting, on_deprecation, token)
        finally:
            with anyio.CancelScope(shield=True):
                await channel.close()
