"""ResumeSession event by event, beside an empty grpc.aio stream of messages of the same size."""

from bench.batches import FOLLOW, RESUME, resume_request
from bench.figure import Effort, Figure, Judged, median
from bench.filling import delta, event, fill_events
from bench.serving import empty_server
from bench.stage import running_daemon
from bench.streaming import stream

_EVENTS = 20_000
_TEXT_BYTES = 40


async def measure(effort: Effort) -> list[Figure]:
    number = effort.size(_EVENTS)
    session = await fill_events(effort.root, number, delta(_TEXT_BYTES))
    size = len(event(number, delta(_TEXT_BYTES)).data)
    empty: list[float] = []
    resumed: list[float] = []
    async with (
        running_daemon(effort.root) as daemon,
        empty_server(effort.root, number, size) as empty_address,
    ):
        for run in range(effort.runs + 2):
            effort.progress(f"run {run + 1} of {effort.runs + 2}")
            empty.append(number / (await stream(empty_address, FOLLOW, b"", until_messages=number)).last_s)
            again = await stream(daemon.address, RESUME, resume_request(session), until_messages=number)
            resumed.append(number / again.last_s)
    baseline = "an empty grpc.aio stream"
    name = "single-message ResumeSession"
    return [Figure(name, baseline, median(empty), median(resumed), 0.8, "messages/s", Judged.SHARE_OF_BASELINE)]
