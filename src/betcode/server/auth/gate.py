"""Decide who may act for a person: every process except those of agents. The table of methods is in `access.py`.

gRPC does not report which process calls. Our own clients therefore send a ticket from a small plain socket, where the
kernel does report it. A client without ticket support is trusted if no process connected at that moment belongs to an
agent. This makes misuse harder, not impossible.
"""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

import anyio
import anyio.to_thread
from google.protobuf.message import Message

from betcode.domain.errors import AnswerRefused
from betcode.engine import NOBODY, AgentCall, AgentProcesses, ClientName
from betcode.holder.lineage import lineage
from betcode.holder.platform import peer_of, process, start_time
from betcode.holder.process_tree import Judgement, Membership
from betcode.server.auth.access import Access, access_of
from betcode.server.auth.socket_peers import connected_peers, has_ended, is_connected
from betcode.server.auth.tcp_peer import TcpPeer, peer_candidates
from betcode.server.listeners.socket_file import SocketFile
from betcode.server.rpc import Caller

logger = logging.getLogger(__name__)

TICKET_LIFE_S = 60.0
TICKETS_LIMIT = 10_000
_ATTEMPTS = 4  # for a peer whose process has just ended, before it counts as hidden
_RETRY_S = 0.05
_PEERS_NAMED = 5
_LINEAGES_LIMIT = 1000
_THREADS = 4
_UNKNOWN = Judgement(Membership.GONE)

INSIDE = "This process runs inside an agent, which may read but not act for a person: use your own terminal"
_SUSPECT = (
    "This process was started while an agent ran whose holder was killed, and may belong to it: use a terminal that "
    "was opened before or log in again"
)
_NOT_CONNECTED = (
    "The process that asked for the ticket is not connected to this socket: call from the process that asked, and "
    "check that no other program serves at the path of the daemon's socket"
)
_UNKNOWN_TCP = (
    "The system does not report which local process calls over TCP: use the unix socket, and keep the connection "
    "open until the call is answered"
)
_NO_TICKET = (
    "A process of an agent is connected, and this call has no ticket to show that it does not come from there: "
    "use betcode, or wait until the agent has disconnected"
)

T = TypeVar("T")
OnAgentCall = Callable[[AgentCall], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class TicketOwner:
    """The process that asked for a ticket."""

    pid: int
    start: int
    uid: int


@dataclass(slots=True)
class Tickets:
    """The tickets that count at this moment, each with the process that asked for it."""

    clock: Callable[[], float] = time.monotonic
    _known: dict[str, tuple[float, TicketOwner]] = field(default_factory=dict)

    def issue(self, owner: TicketOwner) -> str:
        """A new one, good for a minute, as often as its owner likes."""
        now = self.clock()
        self._forget(now)
        token = secrets.token_urlsafe(24)
        self._known[token] = (now + TICKET_LIFE_S, owner)
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

    def owner(self, token: str) -> TicketOwner | None:
        """The process that asked for it; None where it is unknown or has run out."""
        known = self._known.get(token)
        if known is None:
            return None
        if known[0] <= self.clock():
            del self._known[token]
            return None
        return known[1]


@dataclass(frozen=True, slots=True)
class CallerOrigin:
    """The process that calls, if it is known."""

    short: str  # behind the name of the client
    peer: str  # a description for the audit
    refusal: str = ""  # why it may not act for a person; empty: it may
    how: str = ""  # it called, where it may not
    pid: int = 0
    run_id: str = ""  # of the agent, if known


class Gate:
    """Admits or rejects calls; calls of agents' processes are first reported to `on_agent_call`."""

    def __init__(
        self, tickets: Tickets, processes: AgentProcesses, grpc_address: str, on_agent_call: OnAgentCall
    ) -> None:
        self._tickets = tickets
        self._processes = processes
        self._grpc_address = grpc_address
        self._on_agent_call = on_agent_call
        self._lineages: dict[TicketOwner, str] = {}
        self._threads = anyio.CapacityLimiter(_THREADS)  # a separate pool: other threads may wait for a disk

    async def check(self, method: str, caller: Caller, request: Message | None = None) -> Caller:
        """Return the caller as the handler of a method gets it, if it may call the method.

        Raises:
            AnswerRefused: the call comes, or may come, from inside an agent.
        """
        match access_of(method):
            case Access.READ | Access.BY_REQUEST:
                return caller
            case Access.REPORT:
                await self.report_allowed(method, caller)
                return caller
            case Access.PERSON:
                return replace(caller, person=await self.admit(caller, method, request))

    def recognise(self, caller: Caller) -> Caller:
        """Return who opens a stream: a ticket that is valid now is valid until the stream ends."""
        owner = self._tickets.owner(caller.ticket)
        return caller if owner is None else replace(caller, owner=(owner.pid, owner.start, owner.uid))

    async def admit(self, caller: Caller, method: str = "", request: Message | None = None) -> ClientName:
        """Return the name of a caller who may act for a person, with its process if known.

        Raises:
            AnswerRefused: the call comes, or may come, from inside an agent.
        """
        if caller.person is not None:
            return caller.person
        origin = await self._origin(caller)
        if origin.refusal:
            await self._report(origin, caller.client, method, request, is_allowed=False)
            details = {"peer_pid": str(origin.pid)} if origin.pid else {}
            raise AnswerRefused(origin.refusal, **details)
        name = f"{caller.client.client_id} ({origin.short})"
        return replace(caller.client, client_id=name, peer=origin.peer)

    async def is_a_person(self, caller: Caller) -> bool:
        """Return whether `admit` would accept the caller; writes no audit entry.

        Raises:
            AnswerRefused: the ticket is invalid, so the caller is unknown.
        """
        if caller.ticket and caller.owner is None:
            await self.admit(caller)
            return True
        return not (await self._origin(caller)).refusal

    async def report_allowed(self, method: str, caller: Caller) -> None:
        """Have a call written into the audit that a process inside an agent may make."""
        origin = await self._origin(caller)
        if origin.refusal:
            await self._report(origin, caller.client, method, None, is_allowed=True)

    async def judge_peer(self, pid: int) -> CallerOrigin:
        """Return the origin of the process that requests a ticket."""
        found = await self._processes.judge(pid)
        return await self._in_thread(_origin_of, found, pid, "asked for a ticket")

    async def report_ticket_refused(self, origin: CallerOrigin) -> None:
        await self._report(origin, NOBODY, "", None, is_allowed=False)

    # ------------------------------------------------------------ origin of a call

    async def _origin(self, caller: Caller) -> CallerOrigin:
        if caller.tcp is not None:  # a ticket is for the socket: over TCP it does not identify the caller
            return await self._of_tcp(caller.tcp)
        if caller.owner is not None:
            return await self._of_ticket(TicketOwner(*caller.owner))
        if caller.ticket:
            owner = self._tickets.owner(caller.ticket)
            if owner is None:
                return CallerOrigin(
                    "", "", "The ticket is invalid or expired: request another from the ticket socket", _BAD
                )
            return await self._of_ticket(owner)
        return await self._without_ticket()

    async def _of_ticket(self, owner: TicketOwner) -> CallerOrigin:
        found = await self._processes.judge(owner.pid)
        return await self._in_thread(self._judged_ticket, owner, found)

    def _judged_ticket(self, owner: TicketOwner, found: Judgement) -> CallerOrigin:
        now = process(owner.pid)
        if found.membership is Membership.GONE or now is None or now.start != owner.start:
            return CallerOrigin("", "", "The process that asked for the ticket has ended: ask for another", _BAD)
        if not found.is_outside:
            return _origin_of(found, owner.pid, "called with a ticket")
        if not is_connected(self._grpc_address, owner.pid):
            description = f"unknown; the ticket is that of {self._lineage(owner)}"
            return CallerOrigin("", description, _NOT_CONNECTED, "brought a ticket of a process that is not connected")
        return CallerOrigin(f"pid {owner.pid}", self._lineage(owner))

    def _lineage(self, owner: TicketOwner) -> str:
        """Return the lineage as text; computed once per process, since many calls carry tickets."""
        known = self._lineages.get(owner)
        if known is None:
            if len(self._lineages) >= _LINEAGES_LIMIT:
                self._lineages.clear()
            description = lineage(owner.pid, ancestors=True)
            known = self._lineages[owner] = f"{description}, uid {owner.uid}, start time {owner.start}"
        return known

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        """Reading all connections takes 16 µs for each of them, and the event loop serves them all meanwhile."""
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._threads)

    async def _of_tcp(self, tcp: TcpPeer) -> CallerOrigin:
        suspects, others = await self._processes.pids()
        for pid in await anyio.to_thread.run_sync(peer_candidates, tcp, suspects, others):
            if not pid:
                return CallerOrigin("", f"an unknown process at {tcp}", _UNKNOWN_TCP, f"called by TCP from {tcp}")
            found = await self._processes.judge(pid)
            if not found.is_outside:
                return await self._in_thread(_origin_of, found, pid, f"called by TCP from {tcp}")
        return CallerOrigin(f"tcp {tcp.host}", f"TCP from {tcp}, with the token")

    async def _without_ticket(self) -> CallerOrigin:
        for attempt in range(_ATTEMPTS):
            gone = False
            peers = await self._in_thread(connected_peers, self._grpc_address)
            for pid in peers:
                found = await self._processes.judge(pid) if pid else _UNKNOWN
                if found.membership is Membership.GONE:
                    gone = True
                elif not found.is_outside:
                    origin = await self._in_thread(_origin_of, found, pid, "called without a ticket")
                    return replace(origin, refusal=_NO_TICKET)
            if not gone:
                return CallerOrigin("no ticket", await self._in_thread(_one_of, peers))
            # It may have just ended; one that remains connected without a process has handed its end to another.
            if attempt < _ATTEMPTS - 1:
                await anyio.sleep(_RETRY_S)
        return replace(_origin_of(_UNKNOWN, 0, "called without a ticket"), refusal=_NO_TICKET)

    async def _report(
        self, origin: CallerOrigin, client: ClientName, method: str, request: Message | None, *, is_allowed: bool
    ) -> None:
        call = AgentCall(
            how=origin.how,
            method=method,
            is_allowed=is_allowed,
            client=client,
            request_id=_prompt_of(request),
            target=_session_of(request),
            peer=origin.peer,
            run_id=origin.run_id,
        )
        await self._on_agent_call(call)


_BAD = "sent an invalid ticket"


def _origin_of(found: Judgement, pid: int, how: str) -> CallerOrigin:
    """Of a process that may not act for a person, and of one that may: then without a refusal."""
    description = f"{lineage(pid, ancestors=True)}, start time {start_time(pid)}" if pid else "a process that has ended"
    if found.is_outside:
        return CallerOrigin(f"pid {pid}", description)
    refusal = _SUSPECT if found.membership is Membership.SUSPECT else INSIDE
    return CallerOrigin("", description, refusal, how, pid, found.run_id)


def _prompt_of(request: Message | None) -> str:
    """The prompt that a request would answer; empty where it is about none."""
    inner = getattr(request, "request", request)  # of Submit, or of a conversation
    for holder in (request, getattr(request, "response", None), getattr(inner, "permission", None)):
        for name in ("request_id", "question_id"):
            if found := getattr(holder, name, ""):
                return str(found)
    return str(getattr(getattr(inner, "question_response", None), "question_id", ""))


def _session_of(request: Message | None) -> str:
    return str(getattr(request, "session_id", ""))


@asynccontextmanager
async def serve_tickets(file: SocketFile, tickets: Tickets, gate: Gate) -> AsyncIterator[None]:
    """Give a ticket to everyone who connects from outside the agents' process trees."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(await _reply(writer.get_extra_info("socket"), tickets, gate))
            await writer.drain()
        except OSError:
            logger.debug("a client disconnected before it got its ticket")
        finally:
            writer.close()

    server = await asyncio.start_unix_server(answer, sock=await anyio.to_thread.run_sync(file.bound))
    async with server:
        yield


async def _reply(connection: socket.socket, tickets: Tickets, gate: Gate) -> bytes:
    peer = peer_of(connection)
    found = process(peer[0]) if peer is not None else None
    if peer is None or found is None:
        return b"refused the system does not report which process asks\n"
    pid, uid = peer
    if uid not in (os.getuid(), 0):
        return b"refused this daemon belongs to another user\n"
    origin = await gate.judge_peer(pid)
    if origin.refusal:
        logger.warning("a process inside an agent asked for a ticket and was refused", extra={"peer_pid": pid})
        await gate.report_ticket_refused(origin)
        return f"refused {origin.refusal}\n".encode()
    # Asked last: while the process that connected lives, no other process has its pid.
    if has_ended(connection):
        return b"refused the process that connected has ended: connect again\n"
    return f"ticket {tickets.issue(TicketOwner(pid, found.start, uid))}\n".encode()


def _one_of(peers: Sequence[int]) -> str:
    """Return who may have called without a ticket: one of the connected processes."""
    pids = sorted(set(peers))
    known = ", ".join(f"{lineage(pid)}, start time {start_time(pid)}" for pid in pids[:_PEERS_NAMED])
    more = f" and {len(pids) - _PEERS_NAMED} more" if len(pids) > _PEERS_NAMED else ""
    return f"no ticket; connected: {known}{more}"
