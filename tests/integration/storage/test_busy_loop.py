"""The loop and the log's threads: neither starves beside the other."""

import threading
import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from betcode.domain.store.changes import AppendEvents
from betcode.domain.values.identifiers import Seq
from betcode.storage import open_store
from support.patience import PATIENCE_S
from support.storage.rows import Fatal, events, new_session, store_at

pytestmark = pytest.mark.anyio


class Spinning:
    """Keeps the loop busy for ever, in steps, and counts them."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self.steps = 0

    async def run(self) -> None:
        while True:
            until = time.perf_counter() + self._step_s
            while time.perf_counter() < until:
                pass
            self.steps += 1
            await anyio.lowlevel.checkpoint()


async def test_reads_and_commits_do_not_starve_beside_a_busy_loop(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        session = await new_session(store)
        for first in range(1, 60_000, 1_000):
            await store.commit([AppendEvents(session, events(first, 1_000, b"x" * 200))])
        last = Seq(60_000)
        spinning = Spinning(0.0002)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(spinning.run)
            after = Seq(0)
            while (batch := await store.read_events(session, after, 128 * 1024)) is not None:
                after = batch.last
            for _ in range(50):
                await store.commit([AppendEvents(session, events(last + 1, 20))])
                last = Seq(last + 20)
            tasks.cancel_scope.cancel()
        assert after == 60_000
        assert spinning.steps < 3_000  # some 360; on a quiet machine, when the loop gives no way, tens of thousands


async def test_a_disk_that_does_not_answer_does_not_stop_the_loop(tmp_path: Path) -> None:
    stuck, answer = threading.Event(), threading.Event()
    answer.set()

    def slow_disk(step: str) -> None:
        if step == "before-commit" and not answer.is_set():
            stuck.set()
            assert answer.wait(PATIENCE_S)

    async with open_store(tmp_path / "betcode.db", on_fatal=Fatal(), faults=slow_disk) as store:
        session = await new_session(store)
        async with anyio.create_task_group() as tasks:
            answer.clear()
            tasks.start_soon(store.commit, [AppendEvents(session, events(1))])
            assert await anyio.to_thread.run_sync(stuck.wait, PATIENCE_S)
            for _ in range(100):  # a loop that stood still would wait for an answer that only it can give
                await anyio.sleep(0.001)
            assert await store.read_events(session, Seq(0), 1_000) is None  # reading goes on, too
            answer.set()
