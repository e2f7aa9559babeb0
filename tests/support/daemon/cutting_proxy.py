"""A unix socket in front of another that cuts its connections when told to, as a bad network does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_CHUNK_BYTES = 64 * 1024


class CuttingProxy:
    """Passes bytes both ways; `cut` ends every connection in the middle of whatever it carries."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._carrying: set[asyncio.StreamWriter] = set()
        self.connections = 0

    def cut(self) -> None:
        for writer in self._carrying:
            writer.transport.abort()

    async def carry(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            from_daemon, to_daemon = await asyncio.open_unix_connection(str(self._target))
        except OSError:  # nobody is there at the moment
            to_client.transport.abort()
            return
        ends = {to_client, to_daemon}
        self._carrying |= ends
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pump(from_client, to_daemon))
                tasks.create_task(_pump(from_daemon, to_client))
        finally:
            self._carrying -= ends


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await source.read(_CHUNK_BYTES):
            target.write(piece)
            await target.drain()
    target.transport.abort()


@asynccontextmanager
async def open_cutting_proxy(socket: Path, target: Path) -> AsyncIterator[CuttingProxy]:
    proxy = CuttingProxy(target)
    server = await asyncio.start_unix_server(proxy.carry, str(socket))
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut()
