"""A unix socket in front of another that cuts its connections when told to, as a bad network does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import AnyByteStream, SocketStream


class CuttingProxy:
    """Passes bytes both ways; `cut` ends every connection in the middle of whatever it carries."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._scopes: set[anyio.CancelScope] = set()
        self.connections = 0

    def cut(self) -> None:
        for scope in self._scopes:
            scope.cancel()

    async def carry(self, near: SocketStream) -> None:
        self.connections += 1
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                async with near, await anyio.connect_unix(self._target) as far, anyio.create_task_group() as tasks:
                    tasks.start_soon(_pump, near, far)
                    tasks.start_soon(_pump, far, near)
            finally:
                self._scopes.discard(scope)


async def _pump(source: AnyByteStream, target: AnyByteStream) -> None:
    try:
        while True:
            await target.send(await source.receive())
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await target.aclose()


@asynccontextmanager
async def open_cutting_proxy(socket: Path, target: Path) -> AsyncIterator[CuttingProxy]:
    proxy = CuttingProxy(target)
    async with await anyio.create_unix_listener(socket) as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, proxy.carry)
        yield proxy
        tasks.cancel_scope.cancel()
