"""Things to put into a store, and a look into its file from outside."""

import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import apsw

from betcode.domain.store.rows import NewSession, SessionState, StoredEvent
from betcode.domain.values.identifiers import Seq, SessionKey, new_session_id
from betcode.storage import SqliteStore, open_store
from support.patience import PATIENCE_S


@dataclass
class Fatal:
    """Remembers what ended the log, and wakes whoever waits for it."""

    errors: list[BaseException] = field(default_factory=list)
    happened: threading.Event = field(default_factory=threading.Event)

    def __call__(self, error: BaseException) -> None:
        self.errors.append(error)
        self.happened.set()


@asynccontextmanager
async def store_at(path: Path, *, boot_id: str = "boot-1") -> AsyncIterator[SqliteStore]:
    """A store that must not end by itself."""
    fatal = Fatal()
    async with open_store(path, on_fatal=fatal, boot_id=boot_id) as store:
        yield store
    assert fatal.errors == []


def making(working_directory: str = "/somewhere", **more: object) -> NewSession:
    return NewSession(new_session_id(), "demo", working_directory, **more)  # type: ignore[arg-type]


def events(first: int, count: int = 1, data: bytes = b"said") -> tuple[StoredEvent, ...]:
    return tuple(StoredEvent(Seq(number), 2, b"%d:%s" % (number, data)) for number in range(first, first + count))


async def new_session(store: SqliteStore, working_directory: str = "/somewhere", updated_ns: int = 0) -> SessionKey:
    return await store.create_session(making(working_directory), SessionState(updated_ns=updated_ns), ())


async def all_events(store: SqliteStore, session: SessionKey, limit_bytes: int = 128 * 1024) -> list[bytes]:
    """Every event, page by page."""
    found: list[bytes] = []
    after = Seq(0)
    while (batch := await store.read_events(session, after, limit_bytes)) is not None:
        found += batch.events
        after = batch.last
    return found


def ask(path: Path, question: str) -> list[tuple[object, ...]]:
    """What is in the file, by a connection of its own."""
    # Not by the standard module: a second copy of SQLite in one process undoes the locks of the first.
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return connection.execute(question).fetchall()
    finally:
        connection.close()


def copy_files(path: Path, directory: Path) -> Path:
    """The database and what is beside it, as they are at this moment."""
    directory.mkdir()
    # By another process: closing a file here lets go of the locks that SQLite has on it.
    files = sorted(path.parent.glob(f"{path.name}*"))
    subprocess.run(["cp", "--", *files, directory], check=True)
    return directory / path.name


async def until(question: Callable[[], bool], bound_s: float = PATIENCE_S) -> None:
    """Return when it is so; fail when it is not so in time."""
    with anyio.fail_after(bound_s):
        while not question():  # noqa: ASYNC110 - a file tells nobody when it changes
            await anyio.sleep(0.005)


_HOLD_THE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def locked_by_another_program(path: Path) -> Iterator[None]:
    """Another process has the database's write lock inside this block."""
    argv = [sys.executable, "-c", _HOLD_THE_LOCK, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield
