"""Tickets: who asked for one, and for how long it counts."""

import os
import socket
from pathlib import Path

import pytest

from betcode.domain.errors import AnswerRefused
from betcode.server.gate import TICKET_LIFE_S, TICKETS_LIMIT, Gate, Tickets, connected_peers
from betcode.server.rim import Caller
from betcode.sessions import ClientName


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_ticket_counts_for_a_minute_as_often_as_wanted() -> None:
    clock = Clock()
    tickets = Tickets(clock)
    token = tickets.issue(42)
    assert tickets.owner(token) == 42
    clock.now += TICKET_LIFE_S - 1
    assert tickets.owner(token) == 42
    clock.now += 1
    assert tickets.owner(token) is None


def test_an_invented_ticket_counts_for_nothing() -> None:
    assert Tickets().owner("invented") is None


def test_tickets_are_never_the_same() -> None:
    tickets = Tickets()
    assert len({tickets.issue(1) for _ in range(100)}) == 100


def test_old_tickets_are_forgotten() -> None:
    clock = Clock()
    tickets = Tickets(clock)
    first = [tickets.issue(1) for _ in range(10)]
    clock.now += TICKET_LIFE_S - 1
    second = tickets.issue(2)
    clock.now += 1
    third = tickets.issue(3)
    assert len(tickets) == 2
    assert all(tickets.owner(token) is None for token in first)
    assert (tickets.owner(second), tickets.owner(third)) == (2, 3)


def test_the_oldest_of_too_many_tickets_are_forgotten() -> None:
    tickets = Tickets(Clock())
    issued = [tickets.issue(1) for _ in range(TICKETS_LIMIT + 1)]
    assert len(tickets) == TICKETS_LIMIT
    assert tickets.owner(issued[0]) is None
    assert tickets.owner(issued[1]) == 1


@pytest.mark.anyio
async def test_a_stream_opened_with_a_ticket_may_answer_for_as_long_as_it_lasts(tmp_path: Path) -> None:
    clock = Clock()
    tickets = Tickets(clock)
    gate = Gate(tickets, tmp_path, "nowhere")
    caller = Caller(ClientName("phone", "app"), tickets.issue(42))
    of_stream = gate.recognise(caller)
    clock.now += TICKET_LIFE_S + 1
    assert await gate.admit(of_stream) == ClientName("phone (pid 42)", "app")
    with pytest.raises(AnswerRefused):
        await gate.admit(caller)
    with pytest.raises(AnswerRefused):
        await gate.admit(gate.recognise(caller))


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
                assert list(connected_peers(address)) == [os.getpid()]
            assert sorted(Path("/dev/fd").iterdir()) == before
