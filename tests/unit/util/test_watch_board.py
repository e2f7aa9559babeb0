"""Watchers get everything in order; a slow one gets it coalesced, and nobody waits for it."""

from collections.abc import Iterable

import anyio
import pytest

from betcode.util.watch_board import WatchBoard
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

LIMIT = 10


def newest_of_each(items: Iterable[tuple[str, int]]) -> Iterable[tuple[str, int]]:
    return dict(items).items()


def board() -> WatchBoard[str, tuple[str, int]]:
    return WatchBoard(newest_of_each, LIMIT)


async def test_a_watcher_gets_the_items_of_its_key_in_order() -> None:
    it = board()
    with it.watching("a") as one, it.watching(None) as everything:
        for item in (("a", 1), ("b", 2), ("a", 3)):
            it.publish(item[0], item)
        assert [await one.take(), await one.take()] == [("a", 1), ("a", 3)]
        assert len(one) == 0
        assert [await everything.take() for _ in range(3)] == [("a", 1), ("b", 2), ("a", 3)]


async def test_an_item_without_a_key_is_for_every_watcher() -> None:
    it = board()
    with it.watching("a") as one, it.watching("b") as other:
        it.publish(None, ("c", 1))
        assert await one.take() == await other.take() == ("c", 1)


async def test_items_are_coalesced_above_the_limit_only() -> None:
    it = board()
    with it.watching(None) as slow:
        for number in range(LIMIT):
            it.publish("a", ("a", number))
        assert len(slow) == LIMIT
        it.publish("a", ("a", LIMIT))
        assert await slow.take_all() == [("a", LIMIT)]


async def test_items_that_cannot_be_coalesced_are_all_there() -> None:
    it = board()
    with it.watching(None) as slow:
        for number in range(5 * LIMIT):
            it.publish(str(number), (str(number), number))
        assert [number for _, number in await slow.take_all()] == list(range(5 * LIMIT))


async def test_all_items_are_taken_coalesced() -> None:
    it = board()
    with it.watching(None) as watch:
        for number in range(3):
            it.publish("a", ("a", number))
        assert await watch.take_all() == [("a", 2)]
        assert len(watch) == 0


@pytest.mark.parametrize("method", ["take", "take_all"])
async def test_a_waiting_watcher_wakes(method: str) -> None:
    it = board()
    with anyio.fail_after(PATIENCE_S), it.watching(None) as watch:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(getattr(watch, method))
            await anyio.wait_all_tasks_blocked()
            it.publish("a", ("a", 1))


async def test_a_closed_watch_gets_nothing_more() -> None:
    it = board()
    with it.watching(None) as watch:
        assert it.is_watched
    assert not it.is_watched
    it.publish("a", ("a", 1))
    assert len(watch) == 0
