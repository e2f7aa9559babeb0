"""Tickets: who asked for one, and for how long it counts."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.errors import AnswerRefused
from betcode.engine import AgentCall, AgentProcesses, ClientName
from betcode.holder.platform import process, start_time
from betcode.server.auth import gate
from betcode.server.auth.gate import TICKET_LIFE_S, TICKETS_LIMIT, Gate, TicketOwner, Tickets, serve_tickets
from betcode.server.auth.socket_peers import connected_peers, is_connected
from betcode.server.auth.tcp_peer import TcpPeer
from betcode.server.listeners.socket_file import own_socket_file
from betcode.server.rpc import Caller

PID_ATTEMPTS = 1000  # another program may be started between
ONE, TWO, THREE = (TicketOwner(pid, 7, 1000) for pid in (1, 2, 3))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_ticket_counts_for_a_minute_as_often_as_wanted() -> None:
    clock = Clock()
    tickets = Tickets(clock)
    token = tickets.issue(ONE)
    assert tickets.owner(token) == ONE
    clock.now += TICKET_LIFE_S - 1
    assert tickets.owner(token) == ONE
    clock.now += 1
    assert tickets.owner(token) is None


def test_an_invented_ticket_counts_for_nothing() -> None:
    assert Tickets().owner("invented") is None


def test_tickets_are_never_the_same() -> None:
    tickets = Tickets()
    assert len({tickets.issue(ONE) for _ in range(100)}) == 100


def test_old_tickets_are_forgotten() -> None:
    clock = Clock()
    tickets = Tickets(clock)
    first = [tickets.issue(ONE) for _ in range(10)]
    clock.now += TICKET_LIFE_S - 1
    second = tickets.issue(TWO)
    clock.now += 1
    third = tickets.issue(THREE)
    assert len(tickets) == 2
    assert all(tickets.owner(token) is None for token in first)
    assert (tickets.owner(second), tickets.owner(third)) == (TWO, THREE)


def test_the_oldest_of_too_many_tickets_are_forgotten() -> None:
    tickets = Tickets(Clock())
    issued = [tickets.issue(ONE) for _ in range(TICKETS_LIMIT + 1)]
    assert len(tickets) == TICKETS_LIMIT
    assert tickets.owner(issued[0]) is None
    assert tickets.owner(issued[1]) == ONE


class Bench:
    """A gate with a clock, and what it wrote into the audit."""

    def __init__(self, address: str = "nowhere") -> None:
        self.clock = Clock()
        self.tickets = Tickets(self.clock)
        self.calls: list[AgentCall] = []
        self.processes = AgentProcesses()
        self.gate = Gate(self.tickets, self.processes, address, self._note)

    async def _note(self, call: AgentCall) -> None:
        self.calls.append(call)

    def caller(self, *, start: int | None = None) -> Caller:
        pid = os.getpid()
        owner = TicketOwner(pid, start_time(pid) if start is None else start, 7)
        return Caller(ClientName("phone", "app"), self.tickets.issue(owner))


@pytest.fixture
def connected_at(tmp_path: Path) -> Iterator[str]:
    """The address of a socket to which this process is connected."""
    address = str(tmp_path / "daemon")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(address)
        server.listen()
        client.connect(address)
        with server.accept()[0]:
            yield address


@pytest.mark.anyio
async def test_a_ticket_counts_only_while_its_process_is_connected() -> None:
    """Whoever takes the place of the socket sees the tickets of clients, which are connected to the wrong server."""
    bench = Bench()
    with pytest.raises(AnswerRefused, match="is not connected to this socket"):
        await bench.gate.admit(bench.caller())
    [call] = bench.calls
    assert call.how == "brought a ticket of a process that is not connected"
    assert call.peer.startswith(f"unknown; the ticket is that of pid {os.getpid()} (")


@pytest.mark.anyio
async def test_a_ticket_does_not_count_by_tcp() -> None:
    bench = Bench()
    with pytest.raises(AnswerRefused, match="calls over TCP"):
        await bench.gate.admit(replace(bench.caller(), tcp=TcpPeer("127.0.0.1", 1)))


@pytest.mark.anyio
async def test_a_stream_opened_with_a_ticket_may_answer_for_as_long_as_it_lasts(connected_at: str) -> None:
    bench = Bench(connected_at)
    caller = bench.caller()
    of_stream = bench.gate.recognise(caller)
    bench.clock.now += TICKET_LIFE_S + 1
    admitted = await bench.gate.admit(of_stream)
    pid = os.getpid()
    assert admitted == ClientName(f"phone (pid {pid})", "app")
    assert admitted.peer.startswith(f"pid {pid} (python")
    assert f" < {os.getppid()} (" in admitted.peer, "with its parents"
    assert admitted.peer.endswith(f", uid 7, start time {start_time(pid)}")
    assert bench.calls == []
    with pytest.raises(AnswerRefused):
        await bench.gate.admit(caller)
    assert [call.client.client_id for call in bench.calls] == ["phone"]
    with pytest.raises(AnswerRefused):
        await bench.gate.admit(bench.gate.recognise(caller))


@pytest.mark.anyio
async def test_a_ticket_of_a_process_that_has_ended_does_not_count_for_the_next_with_its_pid() -> None:
    bench = Bench()
    with pytest.raises(AnswerRefused, match="has ended"):
        await bench.gate.admit(bench.caller(start=1))


@pytest.mark.anyio
async def test_a_process_that_is_found_to_be_an_agents_loses_its_ticket(connected_at: str) -> None:
    """A ticket is checked again with each use: what was not known when it was given may be known now."""
    bench = Bench(connected_at)
    caller = bench.gate.recognise(bench.caller())
    await bench.gate.admit(caller)
    add_parent_as_holder(bench)
    with pytest.raises(AnswerRefused, match="inside an agent"):
        await bench.gate.admit(caller)
    [call] = bench.calls
    assert (call.run_id, call.is_allowed) == ("run-1", False)
    assert f" < {os.getppid()} (" in call.peer


def test_looking_at_peers_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    address = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(address)
        server.listen()
        client.connect(address)
        accepted, _ = server.accept()
        with accepted:
            before = sorted(Path("/dev/fd").iterdir())
            for _ in range(10):
                assert connected_peers(address) == [os.getpid()]
                assert is_connected(address, os.getpid())
                assert not is_connected(address, os.getppid())
            assert sorted(Path("/dev/fd").iterdir()) == before


LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


def add_parent_as_holder(bench: Bench) -> None:
    """From now on this process belongs to an agent."""
    parent = process(os.getppid())
    assert parent is not None
    bench.processes.tree.add_holder(parent, None, "run-1")


@pytest.mark.anyio
async def test_a_call_without_a_ticket_is_refused_while_an_agents_process_is_connected(connected_at: str) -> None:
    bench = Bench(connected_at)
    anybody = Caller(ClientName("phone", "app"))
    assert (await bench.gate.admit(anybody)).client_id == "phone (no ticket)"
    add_parent_as_holder(bench)
    with pytest.raises(AnswerRefused, match="this call has no ticket"):
        await bench.gate.admit(anybody)
    [call] = bench.calls
    assert (call.how, call.run_id) == ("called without a ticket", "run-1")


async def ticket_line(bench: Bench, directory: Path) -> bytes:
    """The answer of the ticket socket to this process."""
    with own_socket_file(directory / "tickets") as file:
        async with serve_tickets(file, bench.tickets, bench.gate):
            reader, writer = await asyncio.open_unix_connection(file.address)
            line = await reader.readline()
            writer.close()
    return line


@pytest.mark.anyio
async def test_an_agents_process_gets_no_ticket(tmp_path: Path) -> None:
    bench = Bench()
    assert (await ticket_line(bench, tmp_path)).startswith(b"ticket ")
    add_parent_as_holder(bench)
    assert (await ticket_line(bench, tmp_path)).startswith(b"refused This process runs inside an agent")
    assert [call.how for call in bench.calls] == ["asked for a ticket"]
    assert len(bench.tickets) == 1


@pytest.mark.anyio
async def test_another_user_gets_no_ticket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    monkeypatch.setattr(gate, "peer_of", lambda _: (os.getpid(), os.getuid() + 1))
    assert await ticket_line(bench, tmp_path) == b"refused this daemon belongs to another user\n"
    assert len(bench.tickets) == 0


def has_peer_handles() -> bool:
    """Whether the kernel gives a handle of the process that connected (Linux 6.5)."""
    one, other = socket.socketpair()
    with one, other:
        try:
            os.close(one.getsockopt(socket.SOL_SOCKET, 77))
        except OSError:
            return False
    return True


@pytest.mark.anyio
async def test_a_connection_whose_process_has_ended_may_be_an_agents(tmp_path: Path) -> None:
    address = str(tmp_path / "daemon")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        pid, connection = handed_on(address)
        with connection, server.accept()[0]:
            assert list(connected_peers(address)) == ([0] if has_peer_handles() else [pid])
            with pytest.raises(AnswerRefused, match="this call has no ticket"):
                await Bench(address).gate.admit(Caller(ClientName("phone", "app")))


def handed_on(address: str) -> tuple[int, socket.socket]:
    """A connection, and the pid of the process that made it and has ended."""
    code = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        "socket.send_fds(socket.socket(fileno=int(sys.argv[2])), [b'x'], [s.fileno()])"
    )
    ours, others = socket.socketpair()
    with ours, others:
        argv = [sys.executable, "-c", code, address, str(others.fileno())]
        with subprocess.Popen(argv, pass_fds=[others.fileno()]) as connected:
            _, [handle], _, _ = socket.recv_fds(ours, 1, 1)
    return connected.pid, socket.socket(fileno=handle)


def started_with_pid(wanted: int) -> "subprocess.Popen[bytes]":
    """A program that gets a pid which was another process's."""
    for _ in range(PID_ATTEMPTS):
        LAST_PID.write_text(str(wanted - 1))
        program = subprocess.Popen(["sleep", "600"])
        if program.pid == wanted:
            return program
        program.kill()
        program.wait()
    pytest.skip(f"pid {wanted} was taken each time")


@pytest.mark.anyio
@pytest.mark.skipif(not os.access(LAST_PID, os.W_OK), reason="needs a system where the next pid can be chosen")
async def test_a_ticket_is_not_given_to_a_process_that_got_the_pid_of_the_one_that_connected(tmp_path: Path) -> None:
    """The connection was handed on, and the process that made it has ended."""
    bench = Bench()
    with own_socket_file(tmp_path / "tickets") as file:
        async with serve_tickets(file, bench.tickets, bench.gate):
            # Nothing is awaited until the pid is used again, so the server has not seen the connection yet.
            pid, connection = handed_on(file.address)
            with connection, started_with_pid(pid) as program:
                try:
                    reader, writer = await asyncio.open_unix_connection(sock=connection)
                    line = await reader.readline()
                    writer.close()
                finally:
                    program.kill()
    assert line == b"refused the process that connected has ended: connect again\n"
    assert len(bench.tickets) == 0
