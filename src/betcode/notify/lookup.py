"""Looking a host up without holding anybody up: a lookup cannot be cancelled, and may take minutes."""

import asyncio
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress


async def addresses_of(host: str, port: int) -> Sequence[str]:
    """Its addresses in the order in which to try them.

    Who stops waiting leaves a thread behind that nobody waits for, not even the end of the process. That of the event
    loop, and so the next daemon, would wait for a thread of its own pool.

    Raises:
        OSError: there are none.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def tell(addresses: list[str], error: OSError | None) -> None:
        if found.done():
            return
        if error is not None:
            found.set_exception(error)
        else:
            found.set_result(addresses)

    def look_up() -> None:
        addresses: list[str] = []
        error: OSError | None = None
        try:
            hits = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(address[0]) for *_, address in hits))
        except (OSError, UnicodeError) as trouble:
            error = trouble if isinstance(trouble, OSError) else OSError(str(trouble))
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(tell, addresses, error)

    threading.Thread(target=look_up, name="lookup", daemon=True).start()
    return await found
