"""List the sockets of this process. gRPC has no API for a single connection, so the system is asked."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress


def own_sockets() -> Iterator[socket.socket]:
    """Yield a duplicate of each socket, which is closed at the next step. Call it in a thread.

    A duplicate, because gRPC may close its descriptor meanwhile, and the number may then belong to another file.
    """
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - names are numbers
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with duplicate(int(name)) as connection:
                    yield connection


def duplicate(descriptor: int) -> socket.socket:
    """Return another socket object for the same connection.

    Not `socket.dup`: it makes the connection blocking, for gRPC too, which then waits in a read for ever.
    """
    return socket.socket(fileno=os.dup(descriptor))
