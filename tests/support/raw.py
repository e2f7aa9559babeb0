"""Calls with bytes on both ends, for requests that no message could be."""

from collections.abc import AsyncIterator

import anyio
from grpc import aio

from support.patience import PATIENCE_S


class RawCalls:
    def __init__(self, channel: aio.Channel) -> None:
        self._channel = channel

    async def unary(self, path: str, data: bytes) -> bytes:
        call: aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(path)
        with anyio.fail_after(PATIENCE_S):
            return await call(data)

    async def stream_in(self, path: str, *data: bytes) -> bytes:
        call: aio.StreamUnaryMultiCallable[bytes, bytes] = self._channel.stream_unary(path)
        with anyio.fail_after(PATIENCE_S):
            return await call(iter(data))

    async def first(self, path: str, data: bytes) -> bytes | None:
        """The first message of a stream, which is then left; None where it ended without one."""
        call: aio.UnaryStreamMultiCallable[bytes, bytes] = self._channel.unary_stream(path)
        stream = call(data)
        with anyio.fail_after(PATIENCE_S):
            message: object = await stream.read()
        stream.cancel()
        return message if isinstance(message, bytes) else None

    async def both(self, path: str, *data: bytes) -> AsyncIterator[bytes]:
        """Everything that comes back after these were sent and the sending half was closed."""
        call: aio.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(path)
        with anyio.fail_after(PATIENCE_S):
            async for message in call(iter(data)):
                yield message
