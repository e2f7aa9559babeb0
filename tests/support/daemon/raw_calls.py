"""Calls with bytes on both ends, for requests that no message could be."""

from collections.abc import AsyncIterator, Sequence

import anyio
from google.protobuf.descriptor import MethodDescriptor
from grpc import aio

from support.patience import PATIENCE_S


class RawCalls:
    def __init__(self, channel: aio.Channel, metadata: Sequence[tuple[str, str]] = ()) -> None:
        self._channel = channel
        self._metadata = tuple(metadata)

    async def unary(self, path: str, data: bytes) -> bytes:
        call: aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(path)
        with anyio.fail_after(PATIENCE_S):
            return await call(data, metadata=self._metadata)

    async def stream_in(self, path: str, *data: bytes) -> bytes:
        call: aio.StreamUnaryMultiCallable[bytes, bytes] = self._channel.stream_unary(path)
        with anyio.fail_after(PATIENCE_S):
            return await call(iter(data), metadata=self._metadata)

    async def first(self, path: str, data: bytes) -> bytes | None:
        """The first message of a stream, which is then left; None where it ended without one."""
        call: aio.UnaryStreamMultiCallable[bytes, bytes] = self._channel.unary_stream(path)
        stream = call(data, metadata=self._metadata)
        with anyio.fail_after(PATIENCE_S):
            message: object = await stream.read()
        stream.cancel()
        return message if isinstance(message, bytes) else None

    async def both(self, path: str, *data: bytes) -> AsyncIterator[bytes]:
        """Everything that comes back after these were sent and the sending half was closed."""
        call: aio.StreamStreamMultiCallable[bytes, bytes] = self._channel.stream_stream(path)
        with anyio.fail_after(PATIENCE_S):
            async for message in call(iter(data), metadata=self._metadata):
                yield message


def path_of(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


async def outcome(raw: RawCalls, method: MethodDescriptor, data: bytes) -> aio.AioRpcError | None:
    """How a raw call ends; a stream that stays open is left after its first message."""
    path = path_of(method)
    try:
        match method.client_streaming, method.server_streaming:
            case False, False:
                await raw.unary(path, data)
            case True, False:
                await raw.stream_in(path, data)
            case False, True:
                await raw.first(path, data)
            case _:
                _ = [message async for message in raw.both(path, data)]
    except aio.AioRpcError as error:
        return error
    return None
