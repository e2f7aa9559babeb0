"""A program that opens many Follow streams, reads one batch of each and no more.

`python -m bench.stalled ADDRESS SESSION STREAMS LAST`: each begins elsewhere in the first half of LAST events, so that
no two of them can share what was read for them.
"""

import asyncio
import sys
from contextlib import AsyncExitStack

from grpc import aio

from bench.batches import FOLLOW, OPTIONS, follow_request


async def main(address: str, session: str, streams: int, last: int) -> None:
    async with AsyncExitStack() as stack:
        calls = []
        for place in range(streams):
            channel = await stack.enter_async_context(aio.insecure_channel(address, options=list(OPTIONS)))
            follow: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(FOLLOW)
            calls.append(follow(follow_request(session, last * place // (2 * streams))))
        for call in calls:
            await call.read()
        print("{}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
