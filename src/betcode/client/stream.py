"""Read the messages of a streaming call."""

from collections.abc import AsyncGenerator
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from betcode.client.errors import as_client_errors

T = TypeVar("T", bound=Message)


async def messages_of(call: "grpc.aio.UnaryStreamCall[Any, T]", kind: type[T]) -> AsyncGenerator[T, None]:
    """Yield the messages of the call to its end; leaving cancels the call. Hold it in `aclosing`.

    Raises:
        ClientError: the call failed.
    """
    try:
        while True:
            async with as_client_errors():
                message = await call.read()
            if not isinstance(message, kind):
                return
            yield message
    finally:
        call.cancel()
