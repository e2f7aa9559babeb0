"""Count the clients with an open stream, and log the first and the last stream of each."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from betcode.engine import ClientName

logger = logging.getLogger(__name__)


class OpenStreams:
    def __init__(self) -> None:
        self._streams: dict[str, int] = {}  # by client

    @property
    def count(self) -> int:
        """Return how many clients have a stream."""
        return len(self._streams)

    @contextmanager
    def here(self, client: ClientName) -> Iterator[None]:
        """Count one more stream of the client while the block runs."""
        name = client.client_id
        facts = {"client": name, "client_type": client.client_type}
        before = self._streams.get(name, 0)
        self._streams[name] = before + 1
        if not before:
            logger.info("a client connected", extra=facts)
        try:
            yield
        finally:
            self._streams[name] -= 1
            if not self._streams[name]:
                del self._streams[name]
                logger.info("a client disconnected", extra=facts)
