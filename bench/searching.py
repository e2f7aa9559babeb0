"""How soon words are found in a long history, and how long all of it takes to be exported."""

import time
from contextlib import aclosing

import anyio

from bench.figure import Effort, Figure, median
from bench.filling import fill_events
from bench.stage import Daemon, running_daemon
from betcode.v1.agent_pb2 import AgentEvent, TextDelta

_EVENTS = 100_000
_BOUND_S = 120.0
# One document, every document, two words of all, the beginning of many words, a phrase, and nothing.
_QUERIES = ("number77", "common", "common brown", "file*", '"quick brown fox"', "absent")


async def measure(effort: Effort) -> list[Figure]:
    number = effort.size(_EVENTS)
    effort.progress(f"writing {number} events")
    session = await fill_events(effort.root, number, _settled)
    async with running_daemon(effort.root) as daemon:
        began = time.perf_counter()
        await _indexed(daemon)
        effort.progress(f"indexed {time.perf_counter() - began:.1f} s after the start")
        listed: list[float] = []
        slowest: list[float] = []
        for _ in range(10 * effort.runs):
            listed.append(await _list_ms(daemon))
            slowest.append(max([await _search_ms(daemon, query) for query in _QUERIES]))
        replayed: list[float] = []
        exported: list[float] = []
        for run in range(effort.runs):
            effort.progress(f"export, run {run + 1} of {effort.runs}")
            replayed.append(await _follow_ms(daemon, session, number))
            exported.append(await _export_ms(daemon, session))
    what = f"of {number:,} events"
    return [
        Figure(
            f"search {what}, the slowest of {len(_QUERIES)} queries",
            "listing one session",
            median(listed),
            median(slowest),
            50,
            "ms",
        ),
        Figure(f"export {what} as JSON", "the same, followed", median(replayed), median(exported), 5_000, "ms"),
    ]


def _settled(seq: int) -> AgentEvent:
    """A short message with words that all have, few have, and none other has."""
    text = f"the quick brown fox number{seq} jumps over src/file{seq % 997}.py and finds what is common"
    return AgentEvent(sequence=seq, text_delta=TextDelta(text=text, is_complete=True, message_id=f"msg_{seq}"))


async def _indexed(daemon: Daemon) -> None:
    with anyio.fail_after(_BOUND_S):
        while (await daemon.client.search("common")).incomplete:
            pass


async def _search_ms(daemon: Daemon, query: str) -> float:
    began = time.perf_counter()
    await daemon.client.search(query)
    return (time.perf_counter() - began) * 1e3


async def _list_ms(daemon: Daemon) -> float:
    began = time.perf_counter()
    await daemon.client.list_sessions(limit=1)
    return (time.perf_counter() - began) * 1e3


async def _follow_ms(daemon: Daemon, session: str, number: int) -> float:
    began = time.perf_counter()
    async with aclosing(daemon.client.follow(session)) as events:
        async for event in events:
            if event.sequence >= number:
                break
    return (time.perf_counter() - began) * 1e3


async def _export_ms(daemon: Daemon, session: str) -> float:
    began = time.perf_counter()
    async with aclosing(daemon.client.export(session, "json")) as pieces:
        async for _ in pieces:
            pass
    return (time.perf_counter() - began) * 1e3
