"""The ticket socket beside the gRPC socket, which distinguishes a person's client from an agent's processes."""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path

from betcode.client.errors import answer_refused

_LONGEST_LINE_BYTES = 4096
_TIMEOUT_S = 5.0
_REUSED_S = 20.0  # the daemon accepts a ticket for a minute


@dataclass(slots=True)
class TicketCache:
    """Caches the last ticket: fetching one takes as long as a call.

    Concurrent calls share one fetch, so a daemon that does not answer delays them only once.
    """

    _ticket: str = ""
    _until: float = 0.0
    _socket: tuple[int, int] = (0, 0)  # identifies the socket file: another daemon has another one
    _fetches: int = 0
    _fetching: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get(self, socket: Path) -> str:
        """Return a ticket of the daemon that owns this socket now; empty without such a socket.

        Raises:
            Refused: this process runs inside an agent, and may not act for a person.
        """
        try:
            facts = socket.stat()
        except OSError:
            return ""
        found = (facts.st_ino, facts.st_ctime_ns)
        if found != self._socket or time.monotonic() >= self._until or not self._ticket:
            fetches = self._fetches
            async with self._fetching:
                if self._fetches == fetches or found != self._socket:  # no other call has fetched it meanwhile
                    self._ticket = await fetch_ticket(socket)
                    self._socket, self._until = found, time.monotonic() + _REUSED_S
                    self._fetches += 1
        return self._ticket


async def fetch_ticket(socket: Path) -> str:
    """Return a token for calls on behalf of a person; empty if the daemon has no such socket.

    Raises:
        Refused: this process runs inside an agent, and may not act for a person.
    """
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_unix_connection(socket, limit=_LONGEST_LINE_BYTES)
            try:
                line = await reader.readline()
            finally:
                writer.close()
    except (OSError, ValueError):  # missing, closed or invalid: the call is sent without a ticket
        return ""
    verdict, _, rest = line.decode(errors="replace").strip().partition(" ")
    if verdict == "refused":
        raise answer_refused(rest or "This process may not act for a person")
    return rest if verdict == "ticket" else ""
