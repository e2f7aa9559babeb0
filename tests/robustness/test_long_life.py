"""A daemon with many idle sessions and a few busy ones for a long time: what it takes does not grow.

`make soak` lets it live BETCODE_SOAK_MINUTES (10); the short form is a look at whether the looking works.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from betcode.client import Client, open_client
from betcode.holder.platform import resident_bytes
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.daemon.session import Talk, is_idle
from support.providers.claude_world import obedient_talk
from support.rounds.gathering import open_descriptors, open_run_files

pytestmark = pytest.mark.anyio

SOAK = os.environ.get("BETCODE_SOAK") == "1"
LENGTH_S = 60 * float(os.environ.get("BETCODE_SOAK_MINUTES", "10")) if SOAK else 1.5
IDLE, BUSY = (200, 5) if SOAK else (10, 2)
LOOKS = 40
LARGE_TURNS = 60 if SOAK else 2  # of each session, so that the database's caches are full before the looking begins
MOST_GROWTH_BYTES = 4 * 1024 * 1024  # of resident memory, by a line through the looks of the second half
MOST_DESCRIPTORS = 4  # more than in the middle, however long it lives


@dataclass(frozen=True, slots=True)
class Look:
    at_s: float
    resident: int
    descriptors: int


def growth(looks: Sequence[Look]) -> float:
    """Bytes by which resident memory grew from the first look to the last, by a line laid through all of them."""
    mean_at = sum(look.at_s for look in looks) / len(looks)
    mean = sum(look.resident for look in looks) / len(looks)
    spread = sum((look.at_s - mean_at) ** 2 for look in looks)
    slope = sum((look.at_s - mean_at) * (look.resident - mean) for look in looks) / spread
    return slope * (looks[-1].at_s - looks[0].at_s)


async def be_busy(talk: Talk, until: float) -> int:
    """Turns one after the other, with a client that watches each; how many."""
    turns = 0
    while time.monotonic() < until or not turns:
        await talk.say(f"count 50 {4000 if turns < LARGE_TURNS else 100}\ntool\nsay done")
        await talk.answer(await talk.asked(), allow=True)
        await talk.until(is_idle)
        del talk.events[:-1]  # this process is not the one that is looked at
        turns += 1
    return turns


async def live(daemon: Daemon, client: Client) -> tuple[list[Look], int]:
    began = time.monotonic()
    looks: list[Look] = []
    turns: list[int] = []

    async def busy(talk: Talk) -> None:
        turns.append(await be_busy(talk, began + LENGTH_S))

    for _ in range(IDLE):
        await (await obedient_talk(daemon, client)).turn("say hello")
    await becomes_true(lambda: not open_run_files(daemon))  # an idle session costs a row
    async with anyio.create_task_group() as tasks:
        began = time.monotonic()
        for _ in range(BUSY):
            tasks.start_soon(busy, await obedient_talk(daemon, client))
        while len(looks) < LOOKS:
            await anyio.sleep(LENGTH_S / LOOKS)  # the length of its life is what is looked at
            looks.append(Look(time.monotonic() - began, resident_bytes(daemon.pid), open_descriptors(daemon)))
    return looks, sum(turns)


async def test_what_a_daemon_takes_does_not_grow_with_its_life(tmp_path: Path) -> None:
    settings = {"agents": {"idle_retire": 0.5, "turn_limit": BUSY}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        looks, turns = await live(daemon, client)
        later = looks[len(looks) // 2 :]
        grown = growth(later)
        resident = [round(look.resident / 2**20, 1) for look in looks]
        print(f"\n{turns} turns in {looks[-1].at_s:.0f} s; {grown / 2**20:+.1f} MiB in the second half of {resident}")
        print(f"descriptors {[look.descriptors for look in (looks[0], later[0], looks[-1])]}")
        assert turns >= BUSY
        assert looks[-1].descriptors <= later[0].descriptors + MOST_DESCRIPTORS
        if SOAK:  # in seconds nothing can be said of hours
            assert grown <= MOST_GROWTH_BYTES


def test_growth_is_seen() -> None:
    steady = [Look(second, 60 << 20, 30) for second in range(40)]
    leaking = [Look(second, (60 << 20) + 100_000 * second, 30) for second in range(40)]
    assert growth(steady) == 0
    assert growth(leaking) == pytest.approx(3_900_000)
