"""A program that follows one session with many streams and counts: `python -m bench.followers ADDRESS SESSION STREAMS`.

It says `{}` once every stream has had its first batch, and at the end of the turn how much came and when.
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
class Seen:
    events: int = 0
    batches: int = 0
    began_ns: int = 0  # the first batch after the first
    ended_ns: int = 0


async def _follow(address: str, session: str, counter: Counter, connected: "asyncio.Barrier", seen: Seen) -> None:
    async with aio.insecure_channel(address, options=list(OPTIONS)) as channel:
        follow: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(FOLLOW)
        call = follow(follow_request(session))
        await call.read()
        await connected.wait()
        ended = False
        while not ended:
            batch = await call.read()
            assert isinstance(batch, bytes), "the stream ended before the turn"
            count, ended = counter.count(batch)
            seen.began_ns = seen.began_ns or time.monotonic_ns()
            seen.events += count
            seen.batches += 1
        seen.ended_ns = time.monotonic_ns()
        call.cancel()


async def main(address: str, session: str, streams: int) -> None:
    counter, connected = Counter(), asyncio.Barrier(streams + 1)
    all_seen = [Seen() for _ in range(streams)]
    async with asyncio.TaskGroup() as tasks:
        for seen in all_seen:
            tasks.create_task(_follow(address, session, counter, connected, seen))
        await connected.wait()
        gc.freeze()
        print("{}", flush=True)
    said = {
        "events": sum(seen.events for seen in all_seen),
        "batches": sum(seen.batches for seen in all_seen),
        "began_ns": min(seen.began_ns for seen in all_seen),
        "ended_ns": max(seen.ended_ns for seen in all_seen),
        "cpu_s": time.process_time(),
    }
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
