"""Choose TCP connections to close, so that connections without a token cannot use up the limit.

gRPC counts connections and knows no tokens: two hundred that never call anything would lock everybody out until they
time out. Therefore the sockets of a listener are listed from the process's own descriptors. A connection that makes no
call in time is closed. If most of the allowed connections are in use, the oldest ones without a token are closed too,
first those of the address that has the most.
"""

import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from heapq import heapify, heappop, heappush
from inspect import isasyncgenfunction
from typing import Any

import anyio
import anyio.to_thread
import grpc

from betcode.server.auth.tcp_peer import TcpPeer, tcp_peer
from betcode.server.listeners.own_sockets import own_sockets
from betcode.server.rpc import Context, Handler

logger = logging.getLogger(__name__)

FIRST_CALL_WITHIN_S = 10.0
_CHECK_EVERY_S = 0.25
_SHAPES: tuple[tuple[str, Callable[..., Handler]], ...] = (
    ("unary_unary", grpc.unary_unary_rpc_method_handler),
    ("unary_stream", grpc.unary_stream_rpc_method_handler),
    ("stream_unary", grpc.stream_unary_rpc_method_handler),
    ("stream_stream", grpc.stream_stream_rpc_method_handler),
)


class ConnectionState(IntEnum):
    """What a connection has done so far."""

    SILENT = 0  # it has made no call
    OPEN_CALLS = 1  # it has made only calls that need no token
    AUTHENTICATED = 2  # a call of it had the token


@dataclass(frozen=True, slots=True)
class TcpConnection:
    peer: TcpPeer
    state: ConnectionState
    age_s: float


def surplus(connections: Sequence[TcpConnection], limit: int) -> list[TcpConnection]:
    """The connections to close now."""
    overdue = [each for each in connections if _is_overdue(each)]
    groups: dict[str, list[TcpConnection]] = {}
    for each in connections:
        if each.state is not ConnectionState.AUTHENTICATED and not _is_overdue(each):
            groups.setdefault(each.peer.group, []).append(each)
    for members in groups.values():
        members.sort(key=lambda each: (-each.state, each.age_s))  # who goes first is last
    largest = [(-len(members), group) for group, members in groups.items()]
    heapify(largest)
    closed: list[TcpConnection] = []
    excess = len(connections) - len(overdue) - limit * 3 // 4
    while largest and len(closed) < excess:
        _, group = heappop(largest)
        members = groups[group]
        closed.append(members.pop())
        if members:
            heappush(largest, (-len(members), group))
    return [*overdue, *closed]


def _is_overdue(connection: TcpConnection) -> bool:
    return connection.state is ConnectionState.SILENT and connection.age_s > FIRST_CALL_WITHIN_S


class Admission:
    """The connections of one listener."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._states: dict[TcpPeer, ConnectionState] = {}
        self._first_seen: dict[TcpPeer, float] = {}

    def recording(self, handler: "Handler | None", state: ConnectionState) -> "Handler | None":
        """The same handler; its calls show what their connection is."""
        known: Any = handler
        for name, make in _SHAPES:
            if inner := getattr(known, name, None):
                return make(self._recorded(inner, state), known.request_deserializer, known.response_serializer)
        return handler

    async def watch(self, port: int) -> None:
        """Close surplus connections until cancelled."""
        while True:
            peers = await anyio.to_thread.run_sync(_peers_at, port)
            now = anyio.current_time()
            self._first_seen = {peer: self._first_seen.get(peer, now) for peer in peers}
            self._states = {peer: self._states[peer] for peer in peers if peer in self._states}
            found = [
                TcpConnection(peer, self._states.get(peer, ConnectionState.SILENT), now - since)
                for peer, since in self._first_seen.items()
            ]
            if closing := surplus(found, self._limit):
                logger.warning("closing %d TCP connections without a token", len(closing))
                await anyio.to_thread.run_sync(_shut_down, port, frozenset(each.peer for each in closing))
            await anyio.sleep(_CHECK_EVERY_S)

    def _recorded(self, inner: Callable[[Any, Context], Any], state: ConnectionState) -> Callable[[Any, Context], Any]:
        async def call(request: Any, context: Context) -> Any:
            self._record(context, state)
            carried = inner(request, context)
            del request  # a failed call remains until garbage is collected, and must not hold 50 MB
            return await carried

        async def generate(request: Any, context: Context) -> AsyncIterator[Any]:
            self._record(context, state)
            async for each in inner(request, context):
                yield each

        return generate if isasyncgenfunction(inner) else call  # gRPC calls these two in different ways

    def _record(self, context: Context, state: ConnectionState) -> None:
        if peer := tcp_peer(context.peer()):
            self._states[peer] = max(state, self._states.get(peer, state))


def _peers_at(port: int) -> list[TcpPeer]:
    return [peer for connection in own_sockets() if (peer := _peer_of(connection, port))]


def _shut_down(port: int, peers: frozenset[TcpPeer]) -> None:
    """gRPC sees the end of the connection and lets go of it."""
    for connection in own_sockets():
        if _peer_of(connection, port) in peers:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _peer_of(connection: socket.socket, port: int) -> TcpPeer | None:
    """Return the peer; None if it is not a connection to that port."""
    try:
        if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.getsockname()[1] == port:
            host, peer_port = connection.getpeername()[:2]
            return tcp_peer(f"ipv6:[{host}]:{peer_port}" if ":" in host else f"ipv4:{host}:{peer_port}")
    except OSError:
        pass  # a listening socket, or closed
    return None
