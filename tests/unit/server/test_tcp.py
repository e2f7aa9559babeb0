"""Limits, peers and certificates of TCP clients."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from betcode.config.certificate import read_pair, valid_until
from betcode.config.load import WrongSetting
from betcode.config.settings import ListenSettings
from betcode.config.tcp_address import TcpAddress, parse_address
from betcode.config.token_file import WrongToken, make_token
from betcode.domain.errors import RateLimited
from betcode.domain.metrics.request_counts import RequestCounts
from betcode.engine import ClientName
from betcode.holder.platform import processes
from betcode.server.auth import tcp_peer as tcp_peer_module
from betcode.server.auth.rate_limits import RateLimits
from betcode.server.auth.tcp_peer import TcpPeer, peer_candidates, tcp_peer
from betcode.server.health.grpc_health import HealthBoard
from betcode.server.listeners.reset_floods import ResetFloods
from betcode.server.listeners.tcp import TcpListeners, TokenCheck, serve_tcp
from betcode.server.rpc import Caller
from support.daemon.tcp import certificate
from support.patience import PATIENCE_S

LOCAL = Caller(ClientName("local"))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def caller(host: str, name: str = "phone") -> Caller:
    return Caller(ClientName(name), tcp=TcpPeer(host, 4242))


def test_messages_are_counted_by_session_and_room_comes_back_with_time() -> None:
    clock = Clock()
    limits = RateLimits(ListenSettings(messages_per_minute=2), clock)
    limits.message(caller("10.0.0.1"), "a")
    clock.now += 20
    limits.message(caller("10.0.0.2"), "a")
    limits.message(caller("10.0.0.2"), "b")
    with pytest.raises(RateLimited) as refused:
        limits.message(caller("10.0.0.1"), "a")
    assert refused.value.details == {"retry_after_ms": "40000", "limit": "2", "remaining": "0", "reset": "60"}
    clock.now += 40
    limits.message(caller("10.0.0.1"), "a")
    with pytest.raises(RateLimited):
        limits.message(caller("10.0.0.1"), "a")


def test_who_comes_by_the_socket_is_not_limited() -> None:
    limits = RateLimits(ListenSettings(messages_per_minute=1, sessions_per_hour=1))
    for _ in range(5):
        limits.message(LOCAL, "a")
        limits.session(LOCAL)


def test_sessions_are_counted_by_address_whatever_a_client_calls_itself() -> None:
    limits = RateLimits(ListenSettings(sessions_per_hour=1))
    limits.session(caller("10.0.0.1", "one"))
    with pytest.raises(RateLimited):
        limits.session(caller("10.0.0.1", "another"))
    limits.session(caller("10.0.0.2"))
    limits.session(caller("2001:db8::1"))
    with pytest.raises(RateLimited):
        limits.session(caller("2001:db8::ffff"))


def test_limits_change_while_they_are_used_and_none_is_none() -> None:
    limits = RateLimits(ListenSettings(messages_per_minute=3))
    for _ in range(3):
        limits.message(caller("10.0.0.1"), "a")
    limits.use(ListenSettings(messages_per_minute=1))
    with pytest.raises(RateLimited):
        limits.message(caller("10.0.0.1"), "a")
    limits.use(ListenSettings(messages_per_minute=0))
    limits.message(caller("10.0.0.1"), "a")


@pytest.mark.parametrize(
    ("spelled", "host", "port"),
    [
        ("ipv4:127.0.0.1:5000", "127.0.0.1", 5000),
        ("ipv6:%5B::1%5D:5000", "::1", 5000),
        ("ipv6:[::1]:5000", "::1", 5000),
        ("ipv6:%5B::ffff:10.0.0.1%5D:7", "10.0.0.1", 7),
        ("ipv6:%5Bfe80::1%25eth0%5D:7", "fe80::1", 7),
    ],
)
def test_a_peer_is_read_as_grpc_spells_it(spelled: str, host: str, port: int) -> None:
    assert tcp_peer(spelled) == TcpPeer(host, port)


@pytest.mark.parametrize("spelled", ["unix:", "unix:/run/x", "unix-abstract:x"])
def test_a_unix_socket_is_no_tcp_peer(spelled: str) -> None:
    assert tcp_peer(spelled) is None


@contextmanager
def connected(family: socket.AddressFamily, host: str) -> Iterator[TcpPeer]:
    """A connection of this process, as a server sees its other end."""
    with socket.socket(family) as server:
        try:
            server.bind((host, 0))
        except OSError as error:
            pytest.skip(f"{host} cannot be used here: {error}")
        server.listen()
        with socket.create_connection(server.getsockname()[:2]) as client, server.accept()[0]:
            yield TcpPeer(*client.getsockname()[:2])


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_connection_is_traced_to_its_process(family: socket.AddressFamily, host: str) -> None:
    with connected(family, host) as peer:
        assert peer_candidates(peer, (os.getpid(),), ()) == [os.getpid()]
        assert peer_candidates(peer, (), (os.getpid(),)) == [os.getpid()]


def test_a_connection_that_no_process_has_open_may_be_an_agents() -> None:
    """Its descriptor waits in a message that nobody has read."""
    sender, receiver = socket.socketpair()
    with sender, receiver, socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            peer = TcpPeer(*client.getsockname())
            socket.send_fds(sender, [b"x"], [client.fileno()])
        with server.accept()[0]:
            assert peer_candidates(peer, (), processes()) == [0]


def test_a_suspect_that_hides_its_descriptors_may_share_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = tcp_peer_module._sockets
    hides = os.getppid()
    monkeypatch.setattr(tcp_peer_module, "_sockets", lambda pid: None if pid == hides else shown(pid))
    with connected(socket.AF_INET, "127.0.0.1") as peer:
        assert peer_candidates(peer, (hides,), (os.getpid(),)) == [0, os.getpid()]


def test_a_listening_socket_is_not_the_other_end_of_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert peer_candidates(TcpPeer(*server.getsockname()), (), (os.getpid(),)) == [0]


def test_a_connection_of_this_machine_that_is_not_to_be_found_may_be_an_agents() -> None:
    assert peer_candidates(TcpPeer("127.0.0.1", 1), (), ()) == [0]


def test_of_another_machine_nothing_is_known() -> None:
    assert peer_candidates(TcpPeer("192.0.2.1", 4242), (os.getpid(),), ()) == []


def test_a_token_counts_whole_once_and_by_its_scheme() -> None:
    check = TokenCheck("right-and-long-enough")
    assert check.counts([("authorization", "Bearer right-and-long-enough")])
    assert check.counts([("x", "y"), ("authorization", "bearer right-and-long-enough")])
    for wrong in (None, [], [("authorization", "right-and-long-enough")], [("authorization", "Bearer right")]):
        assert not check.counts(wrong)
    assert not check.counts([("authorization", "Bearer right-and-long-enough")] * 2)
    assert not check.counts([("authorization-bin", b"Bearer right-and-long-enough")])


def test_a_certificate_says_until_when_it_holds(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path, days=3)
    left = valid_until(cert) - datetime.now(UTC)
    assert timedelta(days=2, hours=23) < left <= timedelta(days=3)
    assert b"PRIVATE KEY" in read_pair(cert, key)[0]
    with pytest.raises(ValueError, match="no certificate"):
        valid_until(key)


@pytest.mark.parametrize("kind", [("rsa:2048",), ("ec", "-pkeyopt", "ec_paramgen_curve:secp384r1")])
def test_keys_that_clients_take_are_used(tmp_path: Path, kind: tuple[str, ...]) -> None:
    cert, key = certificate(tmp_path, kind=kind)
    assert read_pair(cert, key) == (key.read_bytes(), cert.read_bytes())


@pytest.mark.parametrize(
    "kind",
    [
        ("ed25519",),
        ("ec", "-pkeyopt", "ec_paramgen_curve:secp521r1"),
        ("ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"),
        ("rsa-pss", "-pkeyopt", "rsa_keygen_bits:2048"),
    ],
)
def test_a_key_with_which_nobody_could_connect_is_refused(tmp_path: Path, kind: tuple[str, ...]) -> None:
    with pytest.raises(WrongSetting, match="create a key with RSA, P-256 or P-384"):
        read_pair(*certificate(tmp_path, kind=kind))


def test_what_is_no_certificate_or_key_is_said_in_our_words(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path / "one", password="s3cret")
    with pytest.raises(WrongSetting, match=r"daemon\.tls_key: .* is encrypted with a password"):
        read_pair(cert, key)
    with pytest.raises(WrongSetting, match=r"daemon\.tls_cert: .* contains no certificate"):
        read_pair(key, key)
    with pytest.raises(WrongSetting, match=r"daemon\.tls_key: .* contains no private key"):
        read_pair(cert, cert)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(WrongSetting, match=r"daemon\.tls_cert: .* is not a regular file"):
        read_pair(pipe, key)
    for text in ("", "MAA=", "MAIwAA==", "not base64"):
        cert.write_text(f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
        with pytest.raises(ValueError, match=r"certificate|unpack|cut short|padding|base64"):
            valid_until(cert)


def test_a_name_that_no_file_can_have_is_no_token_file(tmp_path: Path) -> None:
    with pytest.raises(WrongToken, match="cannot be made: File name too long"):
        make_token(tmp_path / ("x" * 300))


@pytest.mark.anyio
async def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betcode.server.listeners.tcp._GREETING_S", 0.1)
    listeners = TcpListeners(health=TcpAddress("127.0.0.1", 0))
    async with serve_tcp(listeners, (), HealthBoard(), (), ResetFloods(RequestCounts())) as (listener,):
        address = parse_address(listener.shown)
        with anyio.fail_after(PATIENCE_S):
            async with await anyio.connect_tcp(address.host, address.port) as silent:
                _ = [piece async for piece in silent]  # until it is closed


def test_a_key_that_does_not_fit_is_told(tmp_path: Path) -> None:
    cert, _ = certificate(tmp_path / "one")
    _, other = certificate(tmp_path / "other")
    with pytest.raises(WrongSetting, match="cannot be used together"):
        read_pair(cert, other)
    with pytest.raises(WrongSetting, match=r"daemon\.tls_key: .* cannot be read"):
        read_pair(cert, tmp_path / "none")


def test_a_pipe_in_place_of_a_certificate_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WrongSetting, match=r"daemon.tls_key: .*pipe cannot be read: it is not a regular file"):
        read_pair(tmp_path / "pipe", tmp_path / "pipe")
