"""The small socket beside the gRPC one, which tells a person's client from an agent's own processes."""

import asyncio
from pathlib import Path

from betcode.client.errors import answer_refused

_LONGEST_LINE_BYTES = 4096
_TIMEOUT_S = 5.0


async def fetch_ticket(socket: Path) -> str:
    """A token that an answer must carry; empty where the daemon has no such socket.

    Raises:
        Refused: this process runs inside an agent, and may not answer for a person.
    """
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_unix_connection(socket, limit=_LONGEST_LINE_BYTES)
            try:
                line = await reader.readline()
            finally:
                writer.close()
    except (OSError, ValueError):  # gone, not there, or talking too much: the answer goes out without a ticket
        return ""
    verdict, _, rest = line.decode(errors="replace").strip().partition(" ")
    if verdict == "refused":
        raise answer_refused(rest or "This process may not answer for a person")
    return rest if verdict == "ticket" else ""
