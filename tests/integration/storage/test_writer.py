"""Group commit: what waits goes together, what fails fails alone, and the thread's end is told."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import apsw
import pytest

from betcode.domain.errors import StorageDegraded, StorageFailed
from betcode.domain.store.changes import AppendEvents
from betcode.storage import SqliteStore, open_store
from betcode.storage.sqlite.writer import Writer
from support.patience import PATIENCE_S
from support.storage.rows import Fatal, all_events, ask, events, new_session, store_at

pytestmark = pytest.mark.anyio


class Steps:
    """Counts the commits, and can hold the writer before one."""

    def __init__(self) -> None:
        self.commits = 0
        self.hold = threading.Event()
        self.hold.set()
        self.held = threading.Event()

    def __call__(self, step: str) -> None:
        if step == "before-commit":
            self.held.set()
            assert self.hold.wait(PATIENCE_S)
            self.commits += 1


@asynccontextmanager
async def held_store(path: Path, steps: Steps) -> AsyncIterator[SqliteStore]:
    async with open_store(path, on_fatal=Fatal(), faults=steps) as store:
        yield store


async def hold(steps: Steps, commit: Callable[[], object], tasks: anyio.abc.TaskGroup) -> None:
    """The writer stands before the commit of one job, so that everything after it has to wait."""
    steps.held.clear()
    steps.hold.clear()
    tasks.start_soon(commit)  # type: ignore[arg-type]
    assert await anyio.to_thread.run_sync(steps.held.wait, PATIENCE_S)


async def test_what_waits_goes_in_one_transaction(tmp_path: Path) -> None:
    steps = Steps()
    async with held_store(tmp_path / "betcode.db", steps) as store:
        sessions = [await new_session(store) for _ in range(20)]
        before = steps.commits
        async with anyio.create_task_group() as tasks:
            await hold(steps, store.writable, tasks)
            for session in sessions:
                tasks.start_soon(store.commit, [AppendEvents(session, events(1))])
            await anyio.lowlevel.checkpoint()
            steps.hold.set()
        assert steps.commits - before == 2  # the one that was held, and all the others
        for session in sessions:
            assert await all_events(store, session) == [events(1)[0].data]


@pytest.mark.behaviour("error.code.sqlite-error")
async def test_one_failing_commit_of_many_is_rolled_back_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    steps, refused = Steps(), []
    async with held_store(tmp_path / "betcode.db", steps) as store:
        sessions = [await new_session(store) for _ in range(9)]

        async def bad(number: int) -> None:
            # The first change of it is fine: that must go too.
            with pytest.raises(StorageFailed, match="Database operation failed"):
                await store.commit(
                    [AppendEvents(sessions[number], events(1)), AppendEvents(sessions[number], events(1))]
                )
            refused.append(number)

        before = steps.commits
        async with anyio.create_task_group() as tasks:
            await hold(steps, store.writable, tasks)
            for number, session in enumerate(sessions):
                if number % 3 == 1:
                    tasks.start_soon(bad, number)
                else:
                    tasks.start_soon(store.commit, [AppendEvents(session, events(1))])
            await anyio.lowlevel.checkpoint()
            steps.hold.set()
        assert steps.commits - before == 2
        assert sorted(refused) == [1, 4, 7]
        stored = [len(await all_events(store, session)) for session in sessions]
        assert stored == [1, 0, 1, 1, 0, 1, 1, 0, 1]
    assert [record.levelno for record in caplog.records if "refused" in record.message] == [logging.ERROR] * 3


async def test_a_value_that_cannot_be_stored_fails_alone(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        with pytest.raises(StorageFailed):
            await new_session(store, "/a lone surrogate \udc80")
        with pytest.raises(StorageFailed):
            await new_session(store, updated_ns=2**63)
        await new_session(store)


async def test_the_writers_end_is_told_and_nobody_waits_for_it(tmp_path: Path) -> None:
    fatal, ended = Fatal(), RuntimeError("the writer must end")
    armed = threading.Event()

    def end(step: str) -> None:
        if armed.is_set():
            raise ended

    async with open_store(tmp_path / "betcode.db", on_fatal=fatal, faults=end) as store:
        session = await new_session(store)
        armed.set()
        with anyio.fail_after(PATIENCE_S):
            with pytest.raises(StorageFailed):
                await store.commit([AppendEvents(session, events(1))])
            with pytest.raises(StorageFailed):
                await store.writable()
        assert await anyio.to_thread.run_sync(fatal.happened.wait, PATIENCE_S)
        assert fatal.errors == [ended]
        assert await all_events(store, session) == []  # reading goes on


async def test_a_cancelled_caller_learns_that_its_commit_happened(tmp_path: Path) -> None:
    steps, learned = Steps(), []
    async with held_store(tmp_path / "betcode.db", steps) as store:
        session = await new_session(store)

        async def commit() -> None:
            await store.commit([AppendEvents(session, events(1))])
            learned.append("committed")
            await anyio.lowlevel.checkpoint()
            learned.append("was not cancelled")

        for cancel_natively in (True, False):
            learned.clear()
            async with anyio.create_task_group() as tasks:
                if cancel_natively:
                    async with asyncio.TaskGroup() as native:  # what a gRPC handler is cancelled with
                        steps.held.clear()
                        steps.hold.clear()
                        task = native.create_task(commit())
                        assert await anyio.to_thread.run_sync(steps.held.wait, PATIENCE_S)
                        task.cancel()
                        await anyio.lowlevel.checkpoint()
                        steps.hold.set()
                    assert task.cancelled()
                else:
                    session = await new_session(store)
                    await hold(steps, commit, tasks)
                    tasks.cancel_scope.cancel()
                    steps.hold.set()
            assert learned == ["committed"]
            assert await all_events(store, session) == [events(1)[0].data]


async def test_leaving_the_block_commits_what_was_submitted(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with anyio.create_task_group() as tasks, store_at(path) as store:
        session = await new_session(store)
        for number in range(1, 51):
            tasks.start_soon(store.commit, [AppendEvents(session, events(number))])
        await anyio.lowlevel.checkpoint()
    assert ask(path, "SELECT count(*) FROM events") == [(50,)]
    with pytest.raises(StorageFailed):
        await store.writable()


@asynccontextmanager
async def small_database(path: Path, pages: int) -> AsyncIterator[tuple[apsw.Connection, Writer]]:
    """A writer on a database that must not grow beyond so many pages."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.execute("CREATE TABLE kept (value BLOB)")
    db.pragma("max_page_count", pages)
    writer = Writer(db, on_fatal=Fatal(), on_pages=lambda _: None, faults=lambda _: None)
    try:
        yield db, writer
    finally:
        await anyio.to_thread.run_sync(writer.stop)
        db.close()


def keep(size: int) -> Callable[[apsw.Connection], None]:
    def work(db: apsw.Connection) -> None:
        db.execute("INSERT INTO kept (value) VALUES (zeroblob(?))", (size,))

    return work


@pytest.mark.behaviour("recovery.sqlite.write-failure")
async def test_what_is_too_large_for_the_room_left_does_not_keep_the_small_ones_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with small_database(tmp_path / "small.db", pages=50) as (db, writer):
        outcomes: dict[int, str] = {}

        async def write(size: int) -> None:
            try:
                await writer.write(keep(size))
                outcomes[size] = "kept"
            except StorageDegraded as degraded:
                outcomes[size] = degraded.message

        with writer.gate:  # everything has to wait for this block's end, and then goes together
            async with anyio.create_task_group() as tasks:
                for size in (1_000, 1_000_000, 2_000):
                    tasks.start_soon(write, size)
                await anyio.lowlevel.checkpoint()
                await anyio.lowlevel.checkpoint()
                writer.gate.release()
            writer.gate.acquire()
        assert outcomes[1_000] == outcomes[2_000] == "kept"
        assert "its disk is full" in outcomes[1_000_000]
        db.pragma("max_page_count", 10_000)
        await writer.write(keep(1_000_000))
        assert db.execute("SELECT count(*) FROM kept").get == 3
    said = [(record.levelno, record.message) for record in caplog.records]
    assert (logging.ERROR, "the database cannot be written: its disk is full") in said
