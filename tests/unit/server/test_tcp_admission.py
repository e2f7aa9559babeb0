"""Which TCP connections are closed."""

import pytest

from betcode.server.auth.tcp_peer import TcpPeer
from betcode.server.listeners.tcp_admission import FIRST_CALL_WITHIN_S, ConnectionState, TcpConnection, surplus

SILENT, OPEN_CALLS, AUTHENTICATED = ConnectionState.SILENT, ConnectionState.OPEN_CALLS, ConnectionState.AUTHENTICATED


def connection(port: int, state: ConnectionState = SILENT, age_s: float = 1.0, host: str = "10.0.0.1") -> TcpConnection:
    return TcpConnection(TcpPeer(host, port), state, age_s)


@pytest.mark.parametrize("state", [OPEN_CALLS, AUTHENTICATED])
def test_only_a_silent_one_is_closed_for_its_age(state: ConnectionState) -> None:
    late = FIRST_CALL_WITHIN_S + 1
    silent = connection(1, age_s=late)
    assert surplus([silent, connection(2, state, late), connection(3)], 100) == [silent]


def test_with_few_connections_nobody_else_is_closed() -> None:
    assert surplus([connection(port) for port in range(75)], 100) == []


def test_with_many_the_oldest_without_a_token_go_first_of_the_address_that_has_the_most() -> None:
    flood = [connection(port, age_s=5 - port / 100) for port in range(80)]
    other = connection(1, age_s=9, host="10.0.0.2")
    mine = [connection(port, AUTHENTICATED, 9, "10.0.0.3") for port in range(19)]
    closed = surplus([*flood, other, *mine], 100)
    assert closed == flood[:25]


def test_addresses_that_have_many_lose_equally_many() -> None:
    one = [connection(port, host="10.0.0.1") for port in range(50)]
    other = [connection(port, host="10.0.0.2") for port in range(45)]
    closed = surplus([*one, *other], 100)
    assert [sum(each.peer.host == host for each in closed) for host in ("10.0.0.1", "10.0.0.2")] == [13, 7]


def test_health_probes_outlast_silent_connections() -> None:
    probes = [connection(port, OPEN_CALLS, 9) for port in range(40)]
    silent = [connection(port, SILENT, 1) for port in range(40, 80)]
    closed = surplus([*probes, *silent], 100)
    assert len(closed) == 5
    assert set(closed) <= set(silent)


def test_connections_with_a_token_are_never_closed() -> None:
    assert surplus([connection(port, AUTHENTICATED, 99) for port in range(100)], 100) == []


def test_a_network_of_ipv6_counts_as_one_address() -> None:
    flood = [connection(1, age_s=1, host=f"2001:db8::{number}") for number in range(1, 9)]
    other = [connection(port, age_s=2) for port in range(1, 6)]
    closed = surplus([*flood, *other], 14)
    assert len(closed) == 3
    assert set(closed) <= set(flood)
