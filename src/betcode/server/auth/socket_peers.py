"""Which processes are connected to a unix socket of this process, as the kernel reports it.

The functions take 16 µs and more for each connection: call them in a thread.
"""

import os
import select
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress

from betcode.holder.platform import peer_of

_SO_PEERPIDFD = 77  # Linux 6.5: a handle of the process that connected, which no other process can take over


def connected_peers(address: str) -> list[int]:
    """The processes connected to a socket of ours, by their pids; 0: the process that connected has ended."""
    return list(_peers(address))


def is_connected(address: str, pid: int) -> bool:
    """Return whether this process is alive and connected to one of our sockets."""
    return pid in _peers(address, pid)


def _peers(address: str, only: int = 0) -> Iterator[int]:
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 names are numbers here, not paths
        with suppress(OSError):  # it was closed meanwhile
            peer = _peer_behind(int(name), address, only)
            if peer is not None:
                yield peer


def _peer_behind(descriptor: int, address: str, only: int) -> int | None:
    """Return the process at the other end of a descriptor; None if it is not a connection to the address.

    The descriptor is neither duplicated nor closed: another thread may be giving its number to a file of SQLite, which
    would lose its locks when a copy is closed.
    """
    before = os.fstat(descriptor)
    if not stat.S_ISSOCK(before.st_mode):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=descriptor)
    try:
        peer = _peer_at(connection, address, only)
    finally:
        connection.detach()
    return peer if os.path.samestat(before, os.fstat(descriptor)) else None


def _peer_at(connection: socket.socket, address: str, only: int) -> int | None:
    if connection.getsockname() != address:
        return None
    if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return None  # a listening socket
    peer = peer_of(connection)
    if peer is None or only not in (0, peer[0]):
        return None
    return 0 if has_ended(connection) else peer[0]


def has_ended(connection: socket.socket) -> bool:
    """Return whether the process that connected has ended, even if another has its pid now; False if unknown."""
    try:
        handle = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError:
        return False
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(0))
    finally:
        os.close(handle)
