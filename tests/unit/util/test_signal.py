"""Waiting tasks wake when something changes; a signal to a busy task is not lost."""

import anyio
import pytest
from anyio.lowlevel import checkpoint

from betcode.util.signal import ChangeSignal, ResettableEvent
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def returns_now(signal: ResettableEvent) -> bool:
    """Whether `wait` returns without a further `set`."""
    returned = False

    async def wait() -> None:
        nonlocal returned
        await signal.wait()
        returned = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    return returned


async def test_a_change_wakes_every_waiting_task() -> None:
    signal, woken = ChangeSignal(), []

    async def wait(number: int) -> None:
        await signal.wait()
        woken.append(number)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(wait, number)
            await anyio.wait_all_tasks_blocked()
            signal.notify()
    assert sorted(woken) == [0, 1, 2]


async def test_a_change_before_the_wait_does_not_count() -> None:
    signal = ChangeSignal()
    signal.notify()
    with anyio.move_on_after(0) as scope:
        await signal.wait()
    assert scope.cancelled_caught


async def test_each_change_wakes_again() -> None:
    signal, seen = ChangeSignal(), 0

    async def count() -> None:
        nonlocal seen
        while seen < 3:
            await signal.wait()
            seen += 1

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(count)
            for _ in range(3):
                await anyio.wait_all_tasks_blocked()
                signal.notify()
    assert seen == 3


async def test_a_cancelled_waiter_leaves_the_others_waiting() -> None:
    signal = ChangeSignal()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(signal.wait)
            await anyio.wait_all_tasks_blocked()
            with anyio.CancelScope() as scope:
                scope.cancel()
                await signal.wait()
            signal.notify()


async def test_an_event_that_was_set_while_the_task_was_busy_is_not_lost() -> None:
    event = ResettableEvent()
    event.set()
    await checkpoint()
    assert event.is_set()
    assert await returns_now(event)


async def test_a_cleared_event_waits_for_the_next_set() -> None:
    event = ResettableEvent()
    event.set()
    event.clear()
    assert not event.is_set()
    assert not await returns_now(event)


async def test_a_waiter_wakes_even_if_the_event_is_cleared_at_once() -> None:
    event = ResettableEvent()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(event.wait)
            await anyio.wait_all_tasks_blocked()
            event.set()
            event.clear()


async def test_a_wait_for_a_set_event_lets_other_tasks_run() -> None:
    event, ran = ResettableEvent(), []
    event.set()

    async def other() -> None:
        ran.append(True)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        await event.wait()
        assert ran
