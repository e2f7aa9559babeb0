"""Open the store: its files, the writer and reader threads, checkpoints and the search index."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import apsw

from betcode.storage.migrations import MIGRATIONS, Migration
from betcode.storage.search.indexer import Indexer
from betcode.storage.sqlite import epochs
from betcode.storage.sqlite.checkpoints import Checkpoints
from betcode.storage.sqlite.database import Durability
from betcode.storage.sqlite.files import OpenedDatabase, close_files, open_files
from betcode.storage.sqlite.worker_thread import WorkerThread
from betcode.storage.sqlite.writer import Writer
from betcode.storage.store import SqliteStore


@asynccontextmanager
async def open_store(
    path: Path,
    *,
    on_fatal: Callable[[BaseException], None],
    durability: Durability = "normal",
    faults: Callable[[str], None] | None = None,
    boot_id: str | None = None,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> AsyncIterator[SqliteStore]:
    """The log, ready for use, or to be read alone while nothing can be written.

    Leaving the block finishes what was submitted and closes it.

    `on_fatal` is called, from any thread, when the log can never be written again: the daemon must end. `faults` is
    called in the writer's thread at "before-commit" and "after-commit", for tests that end the process there.

    Raises:
        DatabaseUnusable: the file cannot be used; the message says why and what to do.
    """

    def open_all() -> tuple[OpenedDatabase, Checkpoints]:
        boot = epochs.kernel_boot_id() if boot_id is None else boot_id
        files = open_files(path, durability, boot, migrations)
        return files, Checkpoints(path, files.checkpoints, on_fatal)

    opened, checkpoints = await anyio.to_thread.run_sync(open_all)
    loop = asyncio.get_running_loop()
    begun = anyio.Event()

    def begin(db: apsw.Connection) -> None:
        loop.call_soon_threadsafe(store.take_epoch, opened.begin(db))

    writer = Writer(
        opened.writer,
        on_fatal=on_fatal,
        on_pages=checkpoints.pages_written,
        faults=faults or _no_faults,
        begin=begin if opened.unwritable else None,
    )
    checkpoints.start(writer.gate)
    readers = [WorkerThread(f"log-reader-{number}", db, loop) for number, db in enumerate(opened.readers, start=1)]

    indexer = Indexer(path, loop)
    searcher = WorkerThread("log-searcher", path, loop)

    def stop_and_close() -> None:
        indexer.stop()
        searcher.stop()
        died_of = writer.stop()
        checkpoints.stop()
        for reader in readers:
            reader.stop()
        close_files(path, opened, clean=died_of is None and writer.has_begun)

    store = SqliteStore(opened.epoch, writer, readers, indexer, searcher, checkpoints, opened.half_deleted, begun)
    if not opened.unwritable:
        begun.set()
    try:
        yield store
    finally:
        writer.close()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(stop_and_close)


def _no_faults(step: str) -> None:
    """Nothing goes wrong on purpose."""
