"""What listens at a run's socket is believed only if it speaks the holder's protocol."""

import json
import socket
from pathlib import Path

import anyio
import pytest

from betcode.engine.shell.holder_client import (
    Hello,
    HolderGone,
    HolderProtocolError,
    HolderRefused,
    attach,
    parse_hello,
)

GREETING: dict[str, object] = {
    "protocol": 1,
    "holder_pid": 10,
    "agent_pid": 11,
    "agent_start": 12345,
    "last_input": 0,
    "last_written": 0,
    "journal_end": 99,
    "exit": None,
    "blocked": None,
}


def test_a_greeting_is_read() -> None:
    assert parse_hello(json.dumps(GREETING)) == Hello(1, 10, 11, 12345, 0, 0, 99, None, None)
    assert parse_hello(json.dumps(GREETING | {"something": "new"})).journal_end == 99


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "",
        "[]",
        "null",
        '"refused"',
        "{}",
        "[" * 200_000,
        json.dumps(GREETING | {"journal_end": "99"}),
        json.dumps(GREETING | {"journal_end": -1}),
        json.dumps(GREETING | {"journal_end": 1 << 70}),
        json.dumps(GREETING | {"agent_pid": True}),
        json.dumps(GREETING | {"agent_pid": None}),
        json.dumps(GREETING | {"exit": []}),
        json.dumps(GREETING | {"blocked": 3}),
    ],
)
def test_anything_else_is_a_protocol_error(text: str) -> None:
    with pytest.raises(HolderProtocolError):
        parse_hello(text)


def test_a_refusal_is_none() -> None:
    with pytest.raises(HolderRefused, match="another user") as refused:
        parse_hello('{"refused": "another user"}')
    assert not isinstance(refused.value, HolderProtocolError)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "sent",
    [
        b"x" * (2 << 20),
        json.dumps(GREETING).encode() + b"\ngrew many\n",
        json.dumps(GREETING).encode() + b"\ndone 1e9\n",
    ],
    ids=["without a newline", "no number", "no serial"],
)
async def test_a_holder_that_breaks_the_protocol_is_let_go_with_that_reason(tmp_path: Path, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_once, server, sent)
            with anyio.fail_after(20), pytest.raises(HolderProtocolError):
                async with attach(tmp_path, timeout_s=15) as attachment:
                    await attachment.grown(1 << 40)


async def serve_once(server: socket.socket, sent: bytes) -> None:
    connection, _ = await anyio.to_thread.run_sync(server.accept)
    with connection:
        await anyio.to_thread.run_sync(_send_all, connection, sent)


def _send_all(connection: socket.socket, sent: bytes) -> None:
    try:
        connection.sendall(sent)
        while connection.recv(4096):  # until the daemon's side lets go
            pass
    except OSError:
        pass


@pytest.mark.anyio
async def test_a_socket_that_is_none_is_gone_or_unusable(tmp_path: Path) -> None:
    (tmp_path / "socket").mkdir()
    with pytest.raises(HolderGone):
        async with attach(tmp_path):
            pass
    (tmp_path / "socket").rmdir()
    (tmp_path / "socket").symlink_to("socket")
    with pytest.raises(OSError, match="`socket` cannot be used: Too many levels of symbolic links"):
        async with attach(tmp_path):
            pass
