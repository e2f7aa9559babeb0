"""A full disk, another program's lock, a damaged file: a clear error, nothing half-done, and it goes on afterwards."""

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from betcode.domain.errors import DatabaseUnusable, StorageDegraded
from betcode.domain.store.changes import AddBlob, AppendEvents
from betcode.domain.store.rows import Blob
from betcode.storage import open_store
from support.storage import disk
from support.storage.disk import fill
from support.storage.rows import Fatal, all_events, ask, events, locked_by_another_program, new_session, store_at

pytestmark = pytest.mark.anyio


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk.small_disk(tmp_path / "disk", 4) as place:
        yield place


@pytest.mark.behaviour("recovery.sqlite.write-failure")
async def test_on_a_full_disk_nothing_is_half_done_and_it_goes_on_when_there_is_room(small_disk: Path) -> None:
    async with store_at(small_disk / "betcode.db") as store:
        session = await new_session(store)
        await store.commit([AppendEvents(session, events(1))])
        filler = fill(small_disk)
        large = events(2, 40, os.urandom(20_000))
        for _ in range(3):
            with pytest.raises(StorageDegraded, match="its disk is full"):
                await store.commit([AppendEvents(session, large), AddBlob(session, Blob("0" * 64, b"x" * 500_000))])
            assert len(await all_events(store, session)) == 1
            assert await store.blob_size(session, "0" * 64) is None
        filler.unlink()
        await store.writable()
        await store.commit([AppendEvents(session, large), AddBlob(session, Blob("0" * 64, b"x" * 500_000))])
        assert await all_events(store, session) == [events(1)[0].data, *(event.data for event in large)]
    async with store_at(small_disk / "betcode.db") as store:
        assert store.epoch == 0
        assert len(await all_events(store, session)) == 41


async def test_a_database_on_a_full_disk_is_not_opened_and_says_why(small_disk: Path) -> None:
    fill(small_disk)
    with pytest.raises(DatabaseUnusable, match=r"not enough free space|disk is full|No space"):
        async with open_store(small_disk / "betcode.db", on_fatal=Fatal()):
            pass


@pytest.mark.behaviour("recovery.sqlite.write-failure")
async def test_another_programs_lock_is_told_and_passes(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path) as store:
        session = await new_session(store)
        with locked_by_another_program(path):
            with pytest.raises(StorageDegraded, match="another program holds its lock"):
                await store.commit([AppendEvents(session, events(1))])
            with pytest.raises(StorageDegraded):
                await store.writable()
            assert await all_events(store, session) == []  # reading waits for nobody
        await store.commit([AppendEvents(session, events(1))])
        assert await all_events(store, session) == [events(1)[0].data]


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    path.write_bytes(b"a letter to my mother " * 1000)
    with pytest.raises(DatabaseUnusable, match="is not an SQLite database"):
        async with open_store(path, on_fatal=Fatal()):
            pass
    assert path.read_bytes().startswith(b"a letter to my mother")


async def test_a_damaged_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path) as store:
        await new_session(store)
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996  # the first page says where everything is
    path.write_bytes(content)
    with pytest.raises(DatabaseUnusable, match="is damaged"):
        async with open_store(path, on_fatal=Fatal()):
            pass


async def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE mine (a)")
    other.close()
    with pytest.raises(DatabaseUnusable, match="a database of another program"):
        async with open_store(path, on_fatal=Fatal()):
            pass
    assert ask(path, "SELECT name FROM sqlite_schema") == [("mine",)]


async def test_a_place_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DatabaseUnusable, match="cannot be opened"):
        async with open_store(tmp_path / "file" / "betcode.db", on_fatal=Fatal()):
            pass
