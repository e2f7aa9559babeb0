"""How soon a client that was away has everything again."""

from grpc import aio

from bench.batches import FOLLOW, OPTIONS, follow_request, walk
from bench.figure import Effort, Figure, median
from bench.filling import delta, fill_events
from bench.serving import empty_server
from bench.stage import running_daemon
from bench.streaming import Streamed, stream

_EVENTS = 100_000
_TEXT_BYTES = 40


async def measure(effort: Effort) -> list[Figure]:
    number = effort.size(_EVENTS)
    effort.progress(f"writing {number} events")
    session = await fill_events(effort.root, number, delta(_TEXT_BYTES))
    request = follow_request(session)
    async with running_daemon(effort.root) as daemon:
        size = await _all_bytes(daemon.address, request, number)
        replayed: list[Streamed] = []
        for run in range(effort.runs + 2):
            effort.progress(f"run {run + 1} of {effort.runs + 2}")
            replayed.append(await stream(daemon.address, FOLLOW, request, until_bytes=size))
    batches = replayed[0].messages
    async with empty_server(effort.root, batches, size // batches) as address:
        empty = [await stream(address, FOLLOW, b"") for _ in range(effort.runs + 2)]
    baseline = "as many bytes from an empty grpc.aio stream"
    name = f"replay of {number:,} events"
    return [
        Figure(
            f"{name}, last event",
            baseline,
            median([one.last_s for one in empty]) * 1e3,
            median([one.last_s for one in replayed]) * 1e3,
            1_000,
            "ms",
        ),
        Figure(
            f"{name}, first batch",
            baseline,
            median([one.first_s for one in empty]) * 1e3,
            median([one.first_s for one in replayed]) * 1e3,
            50,
            "ms",
        ),
    ]


async def _all_bytes(address: str, request: bytes, number: int) -> int:
    """How long all batches together are; a first look, which also warms everything up."""
    events = size = 0
    async with aio.insecure_channel(address, options=list(OPTIONS)) as channel:
        follow: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(FOLLOW)
        call = follow(request)
        while events < number:
            batch = await call.read()
            assert isinstance(batch, bytes), "the stream ended early"
            events += len(walk(batch))
            size += len(batch)
        call.cancel()
    return size
