"""The socket's file: private, a stale one replaced, a live one never."""

import socket
import stat
from pathlib import Path

import pytest

from betcode.server.listeners.socket_file import SocketFile, SocketTaken, own_socket_file


def listening(file: SocketFile) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(file.address)
    server.listen()
    file.made_private()
    return server


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_directory_and_socket_are_private(tmp_path: Path) -> None:
    path = tmp_path / "betcode" / "daemon.sock"
    with own_socket_file(path) as file, listening(file):
        assert mode(path.parent) == 0o700
        assert mode(path) == 0o600
    assert not path.exists()


def test_our_own_directory_is_made_private_if_it_was_not(tmp_path: Path) -> None:
    (tmp_path / "betcode").mkdir(mode=0o755)
    (tmp_path / "betcode" / "settings.json").touch()
    with own_socket_file(tmp_path / "betcode" / "daemon.sock"):
        assert mode(tmp_path / "betcode") == 0o700


def test_a_directory_of_others_is_left_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    (shared / "something").touch()
    with own_socket_file(shared / "daemon.sock"):
        assert mode(shared) == 0o755


def test_a_directory_that_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "something").touch()
    shared.chmod(0o777)
    with pytest.raises(SocketTaken, match="private directory"), own_socket_file(shared / "daemon.sock"):
        pass


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(str(path))
    stale.close()
    assert path.exists()
    with own_socket_file(path) as file, listening(file), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_a_live_socket_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        other.listen(8)
        with pytest.raises(SocketTaken, match="serves at"), own_socket_file(path):
            pass
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_a_live_socket_whose_queue_is_full_is_not_taken_for_dead(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as busy:
        busy.bind(str(path))
        busy.listen(0)
        waiting = []
        for _ in range(4):
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            client.connect_ex(str(path))
            waiting.append(client)
        with pytest.raises(SocketTaken), own_socket_file(path):
            pass
        for client in waiting:
            client.close()


def test_two_daemons_cannot_have_one_socket(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    with own_socket_file(path), pytest.raises(SocketTaken, match="Another daemon"), own_socket_file(path):
        pass


def test_another_file_in_its_place_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "daemon.sock"
    path.write_text("mine")
    with pytest.raises(SocketTaken, match="not a socket"), own_socket_file(path):
        pass
    assert path.read_text() == "mine"


def test_a_path_too_long_for_a_socket_address_works(tmp_path: Path) -> None:
    path = tmp_path / ("deep" * 20) / ("deeper" * 20) / "daemon.sock"
    with own_socket_file(path) as file:
        assert len(file.address) < 108
        with listening(file), socket.socket(socket.AF_UNIX) as client:
            client.connect(file.address)
        assert path.exists()


def test_a_place_where_no_socket_can_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SocketTaken, match="cannot be made"), own_socket_file(tmp_path / "file" / "daemon.sock"):
        pass
