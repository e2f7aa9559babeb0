"""Calling one server-streaming method and taking the times, for figures that need no more."""

import time
from dataclasses import dataclass

from grpc import aio

from bench.batches import OPTIONS


@dataclass(frozen=True, slots=True)
class Streamed:
    first_s: float  # from the call to the first message
    last_s: float
    messages: int
    received_bytes: int


async def stream(
    address: str, method: str, request: bytes, *, until_bytes: int = 0, until_messages: int = 0
) -> Streamed:
    """Read until so much came, or to the end of the stream."""
    async with aio.insecure_channel(address, options=list(OPTIONS)) as channel:
        await channel.channel_ready()
        open_stream: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(method)
        call = open_stream(request)
        began = time.perf_counter()
        first = now = 0.0
        messages = received = 0
        while isinstance(message := await call.read(), bytes):
            messages += 1
            received += len(message)
            if messages == 1:
                first = time.perf_counter()
            if received >= until_bytes > 0 or messages >= until_messages > 0:
                break
        now = time.perf_counter()
        call.cancel()
    return Streamed(first - began, now - began, messages, received)
