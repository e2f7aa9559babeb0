"""A SQL function becomes a method with the same parameters, on the right thread."""

from collections.abc import Callable
from typing import Any, cast

import apsw
import pytest

from betcode.domain.errors import BetcodeError
from betcode.storage.sqlite.access import DatabaseAccess, DatabaseStore, reads, writes
from betcode.storage.sqlite.worker_thread import WorkerThread
from betcode.storage.sqlite.writer import Writer

pytestmark = pytest.mark.anyio


class FakeThread:
    """Calls at once, and remembers that it did."""

    def __init__(self, waiting: int = 0) -> None:
        self.waiting = waiting
        self.calls = 0

    async def call(self, query: Callable[[Any], Any]) -> Any:
        self.calls += 1
        return query("connection")

    async def write(self, change: Callable[[Any], Any]) -> Any:
        return await self.call(change)

    def write_later(self, change: Callable[[Any], Any]) -> None: ...


def find_rows(db: apsw.Connection, name: str, *, limit: int = 7) -> tuple[object, str, int]:
    """The result of a query."""
    return db, name, limit


def fail_to_read(db: apsw.Connection) -> None:
    raise apsw.IOError("disk")


class Example(DatabaseStore):
    find = reads(find_rows)
    save = writes(find_rows)
    fail = reads(fail_to_read)


def example(writer: FakeThread, *readers: FakeThread) -> Example:
    threads = cast("list[WorkerThread[apsw.Connection]]", list(readers))
    return Example(DatabaseAccess(threads, cast("Writer", writer)))


async def test_a_read_runs_on_the_reader_with_the_fewest_waiting_queries() -> None:
    writer, busy, idle = FakeThread(), FakeThread(waiting=2), FakeThread(waiting=1)
    found = await example(writer, busy, idle).find("name", limit=3)
    assert found == cast("object", ("connection", "name", 3))
    assert (writer.calls, busy.calls, idle.calls) == (0, 0, 1)


async def test_a_write_runs_on_the_writer() -> None:
    writer, reader = FakeThread(), FakeThread()
    assert await example(writer, reader).save("name") == cast("object", ("connection", "name", 7))
    assert (writer.calls, reader.calls) == (1, 0)


async def test_a_failed_read_is_an_error_of_the_store() -> None:
    with pytest.raises(BetcodeError):
        await example(FakeThread(), FakeThread()).fail()


def test_a_method_has_the_name_and_the_docstring_of_its_query() -> None:
    assert (Example.find.__name__, Example.find.__doc__) == ("find_rows", "The result of a query.")
