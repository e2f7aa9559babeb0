"""A program that hears one flood of the demo agent and says how long each delta took to reach it.

`python -m bench.listener pipe LINES RATE BYTES` starts the agent itself and reads its pipe;
`python -m bench.listener follow ADDRESS SESSION` hears it through a daemon. Every delta carries the time it was said.
"""

import asyncio
import gc
import json
import subprocess
import sys
import time

from bench.figure import percentile

_GO = b'{"type":"user","message":{"role":"user","content":"go"},"uuid":"0197f3a0-0000-7000-8000-000000000001"}\n'
_WARM_UP = 5  # the first fifth is not counted


def pipe(lines: str, rate: str, text_bytes: str) -> None:
    """What it takes without betcode: the next line of a pipe."""
    argv = [
        sys.executable,
        "-I",
        "-m",
        "betcode.agents.demo",
        f"--flood={lines}",
        f"--rate={rate}",
        f"--bytes={text_bytes}",
    ]
    agent = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert agent.stdin is not None
    assert agent.stdout is not None
    print("{}", flush=True)
    agent.stdin.write(_GO)
    agent.stdin.flush()
    delays: list[int] = []
    began = ended = 0
    for line in agent.stdout:
        now = time.monotonic_ns()
        at = line.find(b'"text_delta","text":"')
        if at > 0:
            said = int(line[at + 21 :].split(b" ", 2)[1])
            delays.append(now - said)
            began, ended = began or said, now
        elif line.startswith(b'{"type":"result"'):
            break
    agent.stdin.close()
    agent.wait()
    _say(delays, began, ended)


async def follow(address: str, session: str) -> None:
    """What it takes with betcode: the next batch of a Follow stream."""
    from grpc import aio

    from bench.batches import FOLLOW, OPTIONS, follow_request
    from betcode.v1.agent_pb2 import IDLE, AgentEventBatch

    delays: list[int] = []
    began = ended = 0
    async with aio.insecure_channel(address, options=list(OPTIONS)) as channel:
        open_stream: aio.UnaryStreamMultiCallable[bytes, AgentEventBatch] = channel.unary_stream(
            FOLLOW, response_deserializer=AgentEventBatch.FromString
        )
        call = open_stream(follow_request(session))
        await call.read()
        gc.freeze()
        print("{}", flush=True)
        going = True
        while going:
            batch = await call.read()
            now = time.monotonic_ns()
            assert isinstance(batch, AgentEventBatch), "the stream ended before the turn"
            for event in batch.events:
                text = event.text_delta
                if text.text and not text.is_complete:
                    said = int(text.text.split(" ", 2)[1])
                    delays.append(now - said)
                    began, ended = began or said, now
                elif event.status_change.status == IDLE:
                    going = False
        call.cancel()
    _say(delays, began, ended)


def _say(delays: list[int], began: int, ended: int) -> None:
    counted = delays[len(delays) // _WARM_UP :]
    said = {
        "p50_ms": percentile(counted, 0.5) / 1e6,
        "p95_ms": percentile(counted, 0.95) / 1e6,
        "p99_ms": percentile(counted, 0.99) / 1e6,
        "lines": len(delays),
        "lines_per_s": len(delays) / max(ended - began, 1) * 1e9,
    }
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "pipe":
        pipe(*sys.argv[2:])
    else:
        asyncio.run(follow(*sys.argv[2:]))
