"""Access to the open database: reads on the readers' threads, writes on the writer's.

`reads` and `writes` turn a SQL function into a method of a store, so that its signature is written once: the first
parameter, the connection, is filled in on the thread.
"""

import functools
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw

from betcode.storage.sqlite.database import storage_error
from betcode.storage.sqlite.worker_thread import WorkerThread
from betcode.storage.sqlite.writer import Writer

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class DatabaseAccess:
    def __init__(self, readers: Sequence[WorkerThread[apsw.Connection]], writer: Writer) -> None:
        self._readers = readers
        self.write = writer.write
        self.write_later = writer.write_later

    async def read(self, query: Callable[[apsw.Connection], T]) -> T:
        """The result of the query, from the reader with the fewest waiting queries."""
        reader = min(self._readers, key=lambda each: each.waiting)
        try:
            return await reader.call(query)
        except apsw.Error as error:
            logger.exception("the database could not be read")
            raise storage_error(error, "read") from error


class DatabaseStore:
    """A part of the store: methods that use the database."""

    def __init__(self, database: DatabaseAccess) -> None:
        self._database = database


Method = Callable[Concatenate[DatabaseStore, P], Coroutine[Any, Any, T]]


def reads(query: Callable[Concatenate[apsw.Connection, P], T]) -> Method[P, T]:
    """A method that runs `query` on a reader's thread."""

    @functools.wraps(query)
    async def method(self: DatabaseStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(lambda db: query(db, *args, **kwargs))

    return method


def writes(change: Callable[Concatenate[apsw.Connection, P], T]) -> Method[P, T]:
    """A method that runs `change` on the writer's thread, in a transaction."""

    @functools.wraps(change)
    async def method(self: DatabaseStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.write(lambda db: change(db, *args, **kwargs))

    return method
