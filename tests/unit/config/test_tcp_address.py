"""HOST and HOST:PORT, and the token's file."""

import os
from pathlib import Path

import pytest

from betcode.config.load import WrongSetting, load_settings
from betcode.config.tcp_address import parse_address
from betcode.config.token_file import WrongToken, make_token, read_token
from betcode.config.units import NotUnderstood


@pytest.mark.behaviour("health.endpoint.tcp")
@pytest.mark.parametrize(
    ("text", "shown", "is_loopback"),
    [
        ("127.0.0.1", "127.0.0.1:50051", True),
        ("127.8.0.1:1", "127.8.0.1:1", True),
        ("localhost", "localhost:50051", True),
        ("LOCALHOST:8", "LOCALHOST:8", True),
        ("::1", "[::1]:50051", True),
        ("[::1]:443", "[::1]:443", True),
        ("[::1]", "[::1]:50051", True),
        ("0.0.0.0", "0.0.0.0:50051", False),
        ("::", "[::]:50051", False),
        ("192.168.1.5:0", "192.168.1.5:0", False),
        ("dev.example.com:50051", "dev.example.com:50051", False),
        ("localhost.example.com", "localhost.example.com:50051", False),
    ],
)
def test_an_address_is_read(text: str, shown: str, is_loopback: bool) -> None:
    address = parse_address(text)
    assert (str(address), address.is_loopback) == (shown, is_loopback)


@pytest.mark.parametrize(
    "text",
    [
        *("", ":50051", "host:", "host:x", "host:65536", "host:-1", "[::1", "[::1]x", "[host]:1", "a b", "1.2.3"),
        *("1.2.3.4.5", "http://host:1", "host:1:2", "-host", "host/path", "127.0.0.256:1", "[127.0.0.1]:1"),
        "host:\u0661",
    ],
)
def test_what_is_no_address_is_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstood):
        parse_address(text)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ('{"daemon": {"listen": "nowhere:x"}}', "daemon.listen must be HOST or HOST:PORT"),
        ('{"daemon": {"listen": 50051}}', "daemon.listen must be HOST or HOST:PORT"),
        ('{"daemon": {"listen": "0.0.0.0"}}', "beyond loopback and needs TLS"),
        ('{"daemon": {"listen": "example.com:1"}}', "beyond loopback and needs TLS"),
        ('{"daemon": {"listen": "127.0.0.1", "tls_cert": "/c.pem"}}', "belong together"),
        ('{"daemon": {"listen": "127.0.0.1", "tls_key": "/k.pem"}}', "belong together"),
    ],
)
def test_a_wrong_place_to_listen_is_one_sentence(tmp_path: Path, settings: str, says: str) -> None:
    (tmp_path / "settings.json").write_text(settings)
    with pytest.raises(WrongSetting, match=says):
        load_settings(tmp_path)


def test_a_token_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tcp.token"
    make_token(path)
    token = read_token(path)
    assert len(token) >= 32
    assert path.stat().st_mode & 0o777 == 0o600
    make_token(path)
    assert read_token(path) == token
    assert os.listdir(path.parent) == ["tcp.token"]  # noqa: PTH208


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        ("a" * 40, 0o640, "can be read by other users"),
        ("a" * 40, 0o604, "can be read by other users"),
        ("", 0o600, "contains no token"),
        ("short", 0o600, "contains no token"),
        ("two words that are long enough", 0o600, "contains no token"),
        ("ü" * 40, 0o600, "contains no token"),
        ("a" * 5000, 0o600, "contains no token"),
    ],
)
def test_a_token_file_that_cannot_be_used_says_why(tmp_path: Path, content: str, mode: int, says: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(WrongToken, match=says):
        read_token(path)


def test_a_token_in_place_of_which_there_is_something_else_says_so(tmp_path: Path) -> None:
    with pytest.raises(WrongToken, match="is not a regular file"):
        read_token(tmp_path)
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(WrongToken, match="is not a regular file"):
        read_token(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(WrongToken, match="cannot be read"):
        read_token(tmp_path / "loop")
    with pytest.raises(WrongToken, match="cannot be made"):
        make_token(tmp_path / "pipe" / "token")
