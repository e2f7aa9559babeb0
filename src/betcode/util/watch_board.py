"""Publish items to any number of watchers. Nobody waits for a slow watcher: its items are coalesced."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from betcode.util.signal import ChangeSignal

K = TypeVar("K")
T = TypeVar("T")

Coalesce = Callable[[Iterable[T]], Iterable[T]]


class Watch(Generic[K, T]):
    """The items that one watcher has not taken yet, in order. `key` None: of all keys."""

    def __init__(self, key: K | None, coalesce: Coalesce[T], limit: int) -> None:
        self.key = key
        self._coalesce = coalesce
        self._limit = limit
        self._coalesce_above = limit
        self._signal = ChangeSignal()
        self._items: list[T] = []

    def put(self, item: T) -> None:
        self._items.append(item)
        if len(self._items) > self._coalesce_above:
            self._items = list(self._coalesce(self._items))
            # Items that cannot be coalesced further are not tried again for each new one.
            self._coalesce_above = max(self._limit, 2 * len(self._items))
        self._signal.notify()

    async def take(self) -> T:
        """Remove and return the first item; wait until there is one."""
        while not self._items:
            await self._signal.wait()
        return self._items.pop(0)

    async def take_all(self) -> list[T]:
        """Remove and return all items, coalesced; wait until there is one."""
        while not self._items:
            await self._signal.wait()
        items, self._items = self._items, []
        return list(self._coalesce(items))

    def __len__(self) -> int:
        return len(self._items)


class WatchBoard(Generic[K, T]):
    """The open watches. Publishing costs nothing while there are none.

    `coalesce` merges items; it is called when a watcher has more than `limit` of them.
    """

    def __init__(self, coalesce: Coalesce[T], limit: int) -> None:
        self._coalesce = coalesce
        self._limit = limit
        self._watches: set[Watch[K, T]] = set()

    @property
    def is_watched(self) -> bool:
        return bool(self._watches)

    def publish(self, key: K | None, item: T) -> None:
        """Give the item to all watchers of this key; None: to every watcher."""
        for watch in self._watches:
            if key is None or watch.key is None or watch.key == key:
                watch.put(item)

    @contextmanager
    def watching(self, key: K | None) -> Iterator[Watch[K, T]]:
        """A watch for everything that is published while the block lasts, for one key or for all."""
        watch = Watch[K, T](key, self._coalesce, self._limit)
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.discard(watch)
