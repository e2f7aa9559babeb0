"""A program that follows one session with many streams and counts: `python -m bench.followers ADDRESS SESSION STREAMS`.

It says `{}` once every stream has had its first batch, and at the end of the turn how much came and when. The clock
starts with the agent's first delta: what comes before it, who is present for one, is not the agent's pace.
"""

import asyncio
import gc
import json
import sys
import time
from dataclasses import dataclass

from grpc import aio

from bench.batches import FOLLOW, OPTIONS, Counter, follow_request


@dataclass(slots=True)
class Stream:
    events: int = 0
    batches: int = 0
    began_ns: int = 0  # the agent said its first delta
    ended_ns: int = 0  # the end of the turn came here


async def _follow(address: str, session: str, counter: Counter, connected: "asyncio.Barrier", stream: Stream) -> None:
    async with aio.insecure_channel(address, options=list(OPTIONS)) as channel:
        follow: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(FOLLOW)
        call = follow(follow_request(session))
        await call.read()
        await connected.wait()
        while not stream.ended_ns:
            batch = await call.read()
            assert isinstance(batch, bytes), "the stream ended before the turn"
            seen = counter.count(batch)
            stream.began_ns = stream.began_ns or seen.said_ns
            if stream.began_ns:
                stream.events += seen.events
                stream.batches += 1
            if seen.ended:
                stream.ended_ns = time.monotonic_ns()
        call.cancel()


async def main(address: str, session: str, streams: int) -> None:
    counter, connected = Counter(), asyncio.Barrier(streams + 1)
    all_streams = [Stream() for _ in range(streams)]
    async with asyncio.TaskGroup() as tasks:
        for stream in all_streams:
            tasks.create_task(_follow(address, session, counter, connected, stream))
        await connected.wait()
        gc.freeze()
        print("{}", flush=True)
    said = {
        "events": sum(stream.events for stream in all_streams),
        "batches": sum(stream.batches for stream in all_streams),
        "began_ns": min(stream.began_ns for stream in all_streams),
        "ended_ns": max(stream.ended_ns for stream in all_streams),
        "cpu_s": time.process_time(),
    }
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
