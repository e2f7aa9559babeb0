"""Threads for the loop: it makes way for them, for a bounded time, and whoever commits learns the outcome."""

import asyncio
import threading

import anyio
import pytest

from betcode.storage.sqlite.worker_thread import GilYield, WorkerThread, outcome
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def test_the_loop_sleeps_until_the_thread_has_finished() -> None:
    order: list[str] = []
    started = threading.Event()
    way = GilYield(asyncio.get_running_loop(), bound_s=PATIENCE_S)

    def work() -> None:
        assert started.wait(PATIENCE_S)
        order.append("thread")
        way.finished()

    thread = threading.Thread(target=work)
    thread.start()
    asyncio.get_running_loop().call_soon(started.set)
    way.handed_over()
    asyncio.get_running_loop().call_soon(order.append, "loop")
    await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()
    thread.join()
    assert order == ["thread", "loop"]


async def test_a_thread_that_does_not_finish_does_not_stop_the_loop() -> None:
    way = GilYield(asyncio.get_running_loop())
    way.handed_over()
    with anyio.fail_after(PATIENCE_S):
        for _ in range(20):
            await anyio.sleep(0.001)
    way.finished()


async def test_a_lane_gives_results_and_raises_errors_where_they_were_asked_for() -> None:
    lane = WorkerThread("test", 5, asyncio.get_running_loop())
    try:
        assert await lane.call(lambda thing: thing + 1) == 6
        with pytest.raises(ZeroDivisionError):
            await lane.call(lambda thing: thing // 0)
        assert await lane.call(lambda _: threading.current_thread().name) == "test"
        assert lane.waiting == 0
    finally:
        lane.stop()


async def test_the_outcome_comes_before_the_cancellation() -> None:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    learned: list[str] = []

    async def wait_for_it() -> None:
        learned.append(await outcome(future))
        await anyio.sleep_forever()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(wait_for_it())
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
            task.cancel()
        future.set_result("done")
    assert learned == ["done"]
    assert task.cancelled()


async def late_outcome(learned: list[str]) -> None:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[str] = loop.create_future()
    loop.call_later(0.05, future.set_result, "done")
    learned.append(await outcome(future))
    await anyio.sleep_forever()


async def late_outcome_in_time(learned: list[str]) -> None:
    async with asyncio.timeout(0.01):
        await late_outcome(learned)


async def test_a_timeout_around_a_commit_is_still_a_timeout() -> None:
    learned: list[str] = []
    with pytest.raises(TimeoutError):
        await late_outcome_in_time(learned)
    with pytest.raises(TimeoutError), anyio.fail_after(0.01):
        await late_outcome(learned)
    assert learned == ["done", "done"]
