"""Who may answer for a person: anyone but the agents' own processes.

gRPC does not say which process calls. Our own clients therefore bring a ticket from a small plain socket, where the
kernel does say it. A client that knows no tickets is believed as long as nobody connected at that moment comes from
inside an agent's process tree. This is a hurdle, not a wall.
"""

import asyncio
import logging
import os
import secrets
import socket
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.domain.errors import AnswerRefused
from betcode.holder.launch import holder_pids
from betcode.holder.lineage import lineage
from betcode.holder.platform import descends_from, peer_of, process
from betcode.server.rim import Caller
from betcode.server.socket_file import SocketFile
from betcode.server.tcp_peer import TcpPeer, agent_behind
from betcode.sessions import ClientName, RefusedAttempt

logger = logging.getLogger(__name__)

TICKET_LIFE_S = 60.0
TICKETS_LIMIT = 10_000
_LOOKS = 4  # at a peer whose process has just ended, before it counts as one that hides
_LOOK_AGAIN_S = 0.05
_PEERS_NAMED = 5

OnRefusal = Callable[[RefusedAttempt], Awaitable[None]]


@dataclass(slots=True)
class Tickets:
    """The tickets that count at this moment, each with the process that asked for it."""

    clock: Callable[[], float] = time.monotonic
    _known: dict[str, tuple[float, int, str]] = field(default_factory=dict)

    def issue(self, pid: int, peer: str = "") -> str:
        """A new one, good for a minute, as often as its holder likes; `peer` says in words who that is."""
        now = self.clock()
        self._forget(now)
        token = secrets.token_urlsafe(24)
        self._known[token] = (now + TICKET_LIFE_S, pid, peer)
        return token

    def __len__(self) -> int:
        return len(self._known)

    def _forget(self, now: float) -> None:
        """Those that have run out, and the oldest of too many; all live equally long, so the first go first."""
        while self._known:
            first = next(iter(self._known))
            if self._known[first][0] > now and len(self._known) < TICKETS_LIMIT:
                return
            del self._known[first]

    def owner(self, token: str) -> int | None:
        """The process that asked for it; None where it is unknown or has run out."""
        known = self._known.get(token)
        if known is None:
            return None
        if known[0] <= self.clock():
            del self._known[token]
            return None
        return known[1]

    def peer(self, token: str) -> str:
        """In words, who asked for it."""
        return self._known[token][2] if token in self._known else ""


class Gate:
    """Lets answers through, or not; what is not let through is told to `refused` first."""

    def __init__(self, tickets: Tickets, runs_dir: Path, grpc_address: str, refused: OnRefusal) -> None:
        self._refused = refused
        self._tickets = tickets
        self._runs_dir = runs_dir
        self._grpc_address = grpc_address

    def recognise(self, caller: Caller) -> Caller:
        """Who opens a stream: a ticket that counts now counts for as long as the stream lasts."""
        owner = self._tickets.owner(caller.ticket)
        return caller if owner is None else replace(caller, pid=owner, peer=self._tickets.peer(caller.ticket))

    async def admit(self, caller: Caller, request_id: str = "") -> ClientName:
        """The caller's name, with its process where that is known; the request is what it would answer.

        Raises:
            AnswerRefused: the answer comes, or may come, from inside an agent's process tree.
        """
        if caller.pid:
            return _with_peer(caller.client, f"pid {caller.pid}", caller.peer)
        if caller.ticket:
            owner = self._tickets.owner(caller.ticket)
            if owner is None:
                await self._refused(RefusedAttempt("brought a ticket that does not count", caller.client, request_id))
                raise AnswerRefused("The ticket is unknown or has run out: ask the ticket socket for another")
            return _with_peer(caller.client, f"pid {owner}", self._tickets.peer(caller.ticket))
        if caller.tcp is not None:
            return await self._admit_tcp(caller, caller.tcp, request_id)
        peers = list(connected_peers(self._grpc_address))
        inside = await self._connected_from_inside()
        if inside is not None:
            attempt = RefusedAttempt("answered without a ticket", caller.client, request_id)
            await self.tell_refused(attempt, inside)
            raise AnswerRefused(
                "An agent's own process is connected, and this answer has no ticket to show that it is not from there: "
                "answer with betcode, or when the agent has disconnected",
                peer_pid=str(inside),
            )
        return _with_peer(caller.client, "no ticket", _one_of(peers))

    async def is_a_person(self, caller: Caller) -> bool:
        """Whether `admit` would let the caller through; nobody is told where not.

        Raises:
            AnswerRefused: the ticket does not count, so that nothing is known of the caller.
        """
        if caller.pid:
            return True
        if caller.ticket:
            await self.admit(caller)
            return True
        if caller.tcp is not None:
            holders = await anyio.to_thread.run_sync(holder_pids, self._runs_dir)
            return await anyio.to_thread.run_sync(agent_behind, caller.tcp, holders) is None
        return await self._connected_from_inside() is None

    async def _admit_tcp(self, caller: Caller, tcp: TcpPeer, request_id: str) -> ClientName:
        holders = await anyio.to_thread.run_sync(holder_pids, self._runs_dir)
        inside = await anyio.to_thread.run_sync(agent_behind, tcp, holders)
        if inside is None:
            return _with_peer(caller.client, f"tcp {tcp.host}", f"TCP from {tcp}, with the token")
        await self.tell_refused(RefusedAttempt(f"answered by TCP from {tcp}", caller.client, request_id), inside.pid)
        if inside.pid:
            raise AnswerRefused("An agent's own processes may not answer for a person", peer_pid=str(inside.pid))
        raise AnswerRefused("The system does not say which process of this machine answers by TCP: use the unix socket")

    async def tell_refused(self, attempt: RefusedAttempt, pid: int) -> None:
        """Have it kept who was refused, with what stands above the process at this moment."""
        holders = await anyio.to_thread.run_sync(holder_pids, self._runs_dir)
        above = next((holder for holder in holders if pid and descends_from(pid, (holder,))), 0)
        words = lineage(pid, ancestors=True) if pid else "a process that has ended"
        await self._refused(replace(attempt, peer=words, holder_pid=above))

    async def is_inside(self, pid: int) -> bool:
        """Whether one of our holders stands above the process."""
        # In a thread: there is one lock file for each run that is kept.
        holders = await anyio.to_thread.run_sync(holder_pids, self._runs_dir)
        return descends_from(pid, holders)

    async def _connected_from_inside(self) -> int | None:
        for look in range(_LOOKS):
            gone = False
            for pid in connected_peers(self._grpc_address):
                if process(pid) is None:
                    gone = True
                elif await self.is_inside(pid):
                    return pid
            if not gone:
                return None
            # It may have ended this instant; one that stays connected without a process has handed its end to another.
            if look < _LOOKS - 1:
                await anyio.sleep(_LOOK_AGAIN_S)
        return 0


def connected_peers(address: str) -> Iterator[int]:
    """The processes connected to our gRPC socket at this moment, by their pids at the time they connected."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 the numbers are wanted, not paths
        with suppress(OSError):  # it was closed meanwhile
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as connection:
                    peer = _peer_at(connection, address)
                if peer is not None:
                    yield peer


def _peer_at(connection: socket.socket, address: str) -> int | None:
    if connection.family != socket.AF_UNIX or connection.getsockname() != address:
        return None
    if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return None  # it listens
    peer = peer_of(connection)
    return peer[0] if peer is not None else None


@asynccontextmanager
async def serve_tickets(file: SocketFile, tickets: Tickets, gate: Gate) -> AsyncIterator[None]:
    """Give a ticket to everyone who connects from outside the agents' process trees."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(await _reply(writer.get_extra_info("socket"), tickets, gate))
            await writer.drain()
        except OSError:
            logger.debug("a client left before it had its ticket")
        finally:
            writer.close()

    server = await asyncio.start_unix_server(answer, file.address)
    file.made_private()
    async with server:
        yield


async def _reply(connection: socket.socket, tickets: Tickets, gate: Gate) -> bytes:
    peer = peer_of(connection)
    if peer is None or process(peer[0]) is None:
        return b"refused the system does not say which process asks\n"
    pid, uid = peer
    if uid not in (os.getuid(), 0):
        return b"refused this daemon belongs to another user\n"
    if await gate.is_inside(pid):
        logger.warning("a process inside an agent asked for a ticket and was refused", extra={"peer_pid": pid})
        await gate.tell_refused(RefusedAttempt("asked for a ticket"), pid)
        return b"refused an agent's own processes may not answer for a person\n"
    return f"ticket {tickets.issue(pid, f'{lineage(pid)}, uid {uid}')}\n".encode()


def _with_peer(client: ClientName, short: str, peer: str) -> ClientName:
    return replace(client, client_id=f"{client.client_id} ({short})", peer=peer)


def _one_of(peers: Sequence[int]) -> str:
    """Who may have called without a ticket: one of those that are connected."""
    known = sorted({lineage(pid) for pid in peers})
    more = f" and {len(known) - _PEERS_NAMED} more" if len(known) > _PEERS_NAMED else ""
    return f"no ticket; connected: {', '.join(known[:_PEERS_NAMED])}{more}"
