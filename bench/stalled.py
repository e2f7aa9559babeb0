"""A program that opens many Follow streams, reads one batch of each and no more.

`python -m bench.stalled ADDRESS SESSION STREAMS`
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from grpc import aio

from bench.batches import FOLLOW, OPTIONS, follow_request


async def main(address: str, session: str, streams: int) -> None:
    async with AsyncExitStack() as stack:
        calls = []
        for _ in range(streams):
            channel = await stack.enter_async_context(aio.insecure_channel(address, options=list(OPTIONS)))
            follow: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(FOLLOW)
            calls.append(follow(follow_request(session)))
        for call in calls:
            await call.read()
        print("{}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
