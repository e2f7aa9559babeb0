"""Identify the peer of a TCP connection: its address, and whether its process belongs to an agent.

The token is in a file that every program of this user can read, including an agent's tools. It therefore does not
distinguish a person from an agent. If the peer is on this machine, the kernel's table of connections does.
"""

import ipaddress
import os
import socket
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS = "0A"  # a state in these tables


@dataclass(frozen=True, slots=True)
class TcpPeer:
    """The other end of a connection."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def group(self) -> str:
        """Whom limits are counted for: the address, and with IPv6 its network, which has one owner."""
        address = ipaddress.ip_address(self.host)
        return self.host if address.version == 4 else str(ipaddress.ip_network(f"{self.host}/64", strict=False))

    @property
    def is_local(self) -> bool:
        """Return whether the address belongs to this machine."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((self.host, 0))
            except OSError:
                return ipaddress.ip_address(self.host).is_loopback
        return True


def tcp_peer(spelled: str) -> TcpPeer | None:
    """From what gRPC calls a peer: `ipv4:127.0.0.1:5000`, `ipv6:%5B::1%5D:5000`; None for a unix socket."""
    kind, _, rest = unquote(spelled).partition(":")
    if kind not in ("ipv4", "ipv6"):
        return None
    host, _, port = rest.rpartition(":")
    address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    return TcpPeer(str(getattr(address, "ipv4_mapped", None) or address), int(port))


def peer_candidates(peer: TcpPeer, suspects: Iterable[int], others: Iterable[int]) -> list[int]:
    """Return the processes that have the other end of the connection; 0 if the system does not name one.

    The result contains all of the suspects that have it, and one other process. It is empty for a peer on another
    machine. Reads files of /proc: call it in a thread.
    """
    # The table comes first: an address that belongs to only one link is not recognised by itself.
    owners = dict(_sockets_at(peer))
    if not owners:
        return [0] if peer.is_local else []  # the connection was closed, or the system has no table
    found: list[int] = []
    missing = set(owners)
    for pid in suspects:
        held = _sockets(pid)
        if held is None:
            found += [0] if Path(f"/proc/{pid}").exists() else []
        elif held & owners.keys():
            found.append(pid)
            missing -= held
    # A socket that waits in an unread message (SCM_RIGHTS) is open in no process, and works: it may be a suspect's.
    hidden: list[int] = []
    for pid in others:
        if not missing:
            break
        held = _sockets(pid)
        if held is None:
            hidden.append(pid)
        elif held & missing:
            found.append(pid)
            missing -= held
    return found + [_hidden_holder(owners[inode], hidden) for inode in missing]


def _hidden_holder(user: int, hidden: Iterable[int]) -> int:
    """Return one of these processes, whose descriptors cannot be read, that may have a socket of a user; 0 if none.

    Many programs of the daemon's own user hide their descriptors. Only sshd is considered, because it forwards ports.
    """
    for pid in hidden:
        try:
            fields = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        except (OSError, ValueError):
            continue
        if int(fields["Uid"].split()[0]) == user and (user != os.getuid() or fields["Name"].startswith("sshd")):
            return pid
    return 0


def _sockets_at(peer: TcpPeer) -> Iterator[tuple[int, int]]:
    """Return the connected sockets of this machine whose own address is that of the peer: inode and user."""
    for table in _TABLES:
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            host, _, port = fields[1].partition(":")
            if int(port, 16) != peer.port or _address(host) != peer.host or fields[3] == _LISTENS:
                continue
            if inode := int(fields[9]):
                yield inode, int(fields[7])


def _address(text: str) -> str:
    """Parse an address: the kernel writes each group of four bytes as a separate number."""
    data = b"".join(int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8))
    address = ipaddress.ip_address(data)
    return str(getattr(address, "ipv4_mapped", None) or address)


def _sockets(pid: int) -> frozenset[int] | None:
    """Return the sockets that a process has open; None if its descriptors cannot be read."""
    found = set()
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                try:
                    name = str(Path(entry.path).readlink())
                except FileNotFoundError:
                    continue
                if name.startswith("socket:["):
                    found.add(int(name[8:-1]))
    except OSError:
        return None
    return frozenset(found)
