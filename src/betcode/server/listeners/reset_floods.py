"""Close connections whose client opens and resets HTTP/2 streams in a loop ("rapid reset").

gRPC refuses most of these streams, so that other clients are answered, but it reads them until the client stops. Hardly
any of them reaches Python. The unread bytes in the socket show them: a client that floods sends faster than the server
reads. They are only peeked at, so that gRPC still reads them. Decision 0046 has the measurements.
"""

import array
import fcntl
import logging
import os
import socket
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import anyio
import anyio.to_thread

from betcode.domain.metrics.request_counts import RequestCounts
from betcode.holder.platform import peer_of
from betcode.server.auth.tcp_peer import tcp_peer
from betcode.server.listeners.http2_sample import LEAST_BYTES, newest_reset
from betcode.server.listeners.own_sockets import duplicate, own_sockets

logger = logging.getLogger(__name__)

LEAST_SIGHTINGS = 4
LEAST_SPAN_S = 0.4
STREAMS_PER_S = 1_000.0  # cancelled calls of normal clients are far below
FORGET_AFTER_S = 3.0
_CHECK_EVERY_S = 0.25
_CHECK_AGAIN_S = 0.02  # while connections are active
_ATTEMPTS = 3  # in one check, until a connection is active
_RETRY_S = 0.003
_OBSERVE_S = 0.05  # an active connection
_SAMPLE_EVERY_S = 0.001
_APART_S = 0.02  # sightings of a connection
_SAMPLE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ResetSample:
    """A sample of a connection that consists of streams that are opened and reset."""

    at_s: float
    newest: int  # id of a stream


def recent(sightings: Sequence[ResetSample], now_s: float) -> tuple[ResetSample, ...]:
    return tuple(each for each in sightings if now_s - each.at_s <= FORGET_AFTER_S)


def is_flood(sightings: Sequence[ResetSample]) -> bool:
    """Return whether these sightings of one connection, without a normal sample between them, justify closing it.

    One sample does not: after a pause of the daemon, calls that were cancelled meanwhile also wait in the socket.
    """
    if len(sightings) < LEAST_SIGHTINGS:
        return False
    return sightings[-1].at_s - sightings[0].at_s >= LEAST_SPAN_S and streams_per_s(sightings) >= STREAMS_PER_S


def streams_per_s(sightings: Sequence[ResetSample]) -> float:
    span_s = sightings[-1].at_s - sightings[0].at_s
    return (sightings[-1].newest - sightings[0].newest) / 2 / span_s  # ids are odd


class ResetFloods:
    """Watches the connections of all listeners that are registered."""

    def __init__(self, counts: RequestCounts, clock: Callable[[], float] = time.monotonic) -> None:
        self._counts = counts
        self._clock = clock
        self._listeners: set[str | int] = set()
        self._sightings: dict[int, tuple[ResetSample, ...]] = {}  # by the inode of the connection

    @contextmanager
    def watching(self, listener: str | int) -> Iterator[None]:
        """Include the connections of a unix socket (its address) or of a TCP port while the block lasts."""
        self._listeners.add(listener)
        try:
            yield
        finally:
            self._listeners.discard(listener)

    async def watch(self) -> None:
        """Close connections that flood, until cancelled."""
        while True:
            is_busy = await anyio.to_thread.run_sync(self.check)
            await anyio.sleep(_CHECK_AGAIN_S if is_busy else _CHECK_EVERY_S)

    def check(self) -> bool:
        """Observe the connections that have sent something, and close those that flood; return whether there are any.

        The unread bytes of a flood come in bursts, so a single sample would often miss it.
        """
        now_s = self._clock()
        self._sightings = {inode: known for inode, seen in self._sightings.items() if (known := recent(seen, now_s))}
        with ExitStack() as stack:
            active: dict[int, socket.socket] = {}
            for attempt in range(_ATTEMPTS):
                if attempt:
                    time.sleep(_RETRY_S)
                if active := self._active(stack):
                    break
            is_busy = bool(active)
            until_s = self._clock() + _OBSERVE_S
            while active and self._clock() < until_s:
                for inode, connection in tuple(active.items()):
                    if not self._stays(inode, connection):
                        del active[inode]
                time.sleep(_SAMPLE_EVERY_S)
        return is_busy

    def _active(self, stack: ExitStack) -> dict[int, socket.socket]:
        """Duplicates of the connections in which bytes wait, or that are suspected, by inode."""
        listeners = frozenset(self._listeners)
        active = {}
        for each in own_sockets():
            with suppress(OSError):  # a listening socket, or closed
                if _listener_of(each) not in listeners:
                    continue
                inode = os.fstat(each.fileno()).st_ino
                if _waiting_bytes(each) or inode in self._sightings:
                    active[inode] = stack.enter_context(duplicate(each.fileno()))
        return active

    def _stays(self, inode: int, connection: socket.socket) -> bool:
        """Take a sample; False if the connection has ended, or was closed here."""
        now_s = self._clock()
        known = recent(self._sightings.get(inode, ()), now_s)
        if known and now_s - known[-1].at_s < _APART_S:
            return True
        try:
            if _waiting_bytes(connection) < LEAST_BYTES:
                return True  # the server reads as fast as the client sends, or nothing is sent: no evidence
            newest = newest_reset(connection.recv(_SAMPLE_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT))
            self._sightings[inode] = seen = () if newest is None else (*known, ResetSample(now_s, newest))
            if not is_flood(seen):
                return True
            self._close(connection, streams_per_s(seen))
        except OSError:
            pass  # it has ended
        return False

    def _close(self, connection: socket.socket, rate: float) -> None:
        """End the connection; gRPC sees the end and releases it."""
        peer = _peer(connection)
        connection.shutdown(socket.SHUT_RDWR)
        self._counts.connections_closed += 1
        logger.warning(
            "closed a connection of %s: it opens and resets HTTP/2 streams in a loop, about %d a second", peer, rate
        )


def _listener_of(connection: socket.socket) -> str | int | None:
    name = connection.getsockname()
    return name if isinstance(name, str) else name[1] if isinstance(name, tuple) else None


def _waiting_bytes(connection: socket.socket) -> int:
    waiting = array.array("i", [0])
    fcntl.ioctl(connection.fileno(), termios.FIONREAD, waiting)
    return waiting[0]


def _peer(connection: socket.socket) -> str:
    if connection.family != socket.AF_UNIX:
        host, port = connection.getpeername()[:2]
        return str(tcp_peer(f"ipv6:[{host}]:{port}" if ":" in host else f"ipv4:{host}:{port}"))
    known = peer_of(connection)
    return f"process {known[0]}" if known else "an unknown process"
