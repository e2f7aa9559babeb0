"""Forking in the store: copied in slices, seen whole, and taken away where it was broken off."""

import os
from pathlib import Path

import apsw
import pytest

from betcode.domain.store.changes import AddBlob, AddInput, AppendEvents
from betcode.domain.store.rows import (
    Blob,
    ForkedPart,
    InputKind,
    InputRow,
    InputState,
    NewSession,
    SessionState,
    StoredEvent,
)
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import Seq, SessionKey
from betcode.storage import SqliteStore
from betcode.storage.sessions import fork_copy
from support.storage.rows import all_events, ask, events, making, store_at, until

pytestmark = pytest.mark.anyio

PART = ForkedPart((StoredEvent(Seq(9_000), 2, b"own"),), frozenset({"second"}))
BLOBS = (Blob("0" * 64, os.urandom(6_000_000)), Blob("1" * 64, b""), Blob("2" * 64, b"small"))
TABLES = ("sessions", "session_makings", "events", "inputs", "input_payloads", "blobs", "blob_pieces")


def fork_of(source: NewSession, at: int = 8_999) -> NewSession:
    return making(forked_from=source.session_id, forked_at=Seq(at), fork_point="there")


def rows(path: Path) -> dict[str, object]:
    return {table: ask(path, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}


async def original(store: SqliteStore) -> tuple[NewSession, SessionKey]:
    new = making()
    session = await store.create_session(new, SessionState(), events(1, 9_500))
    messages = (
        ("first", 5, InputState.CONSUMED),
        ("second", 6, InputState.CONSUMED),
        ("later", 9_100, InputState.ACCEPTED),
    )
    for name, seq, state in messages:
        row = InputRow(name, session, InputKind.MESSAGE, b"payload", state=state, content=b"x", seq=Seq(seq))
        await store.commit([AddInput(row)])
    await store.commit([AddBlob(session, blob) for blob in BLOBS])
    return new, session


async def test_a_fork_has_the_same_events_blobs_and_messages(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        source, session = await original(store)
        new = fork_of(source)
        assert await store.fork_session(session, new, SessionState(last_seq=Seq(9_000)), PART)
        row = await store.find_session(new.session_id)
        assert row is not None
        assert row.new == new
        assert await all_events(store, row.key) == [*(await all_events(store, session))[:8_999], b"own"]
        for blob in BLOBS:
            assert await store.blob_size(row.key, blob.sha256) == len(blob.data)
            assert await store.read_blob(row.key, blob.sha256, 0, 10_000_000) == blob.data
        first, second = await store.find_input(row.key, "first"), await store.find_input(row.key, "second")
        assert first is not None
        assert second is not None
        assert (first.state, first.seq, first.content) == (InputState.CONSUMED, 5, b"x")
        assert second.state is InputState.CANCELLED
        assert await store.find_input(row.key, "later") is None
        await store.commit([AppendEvents(row.key, events(9_001))])
        await store.mark_deleted(session)
        assert len(await all_events(store, row.key)) == 9_001


@pytest.mark.parametrize("slices", [0, 1, 5, 7])
async def test_a_fork_that_was_broken_off_is_taken_away(tmp_path: Path, slices: int) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path) as store:
        source, session = await original(store)
    before = rows(path)
    db = apsw.Connection(str(path))
    with db:
        fork = fork_copy.begin(db, fork_of(source), SessionState())
    for _ in range(slices):
        with db:
            assert fork_copy.copy_slice(db, session, fork, Seq(8_999))
    db.close()
    assert rows(path) != before
    async with store_at(path) as store:
        assert (await store.list_sessions(SessionFilter()))[1] == 1
        (half,) = store.half_deleted
        await store.erase_session(half.key)
        assert rows(path) == before


async def test_what_is_deleted_meanwhile_is_not_forked(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path) as store:
        source, session = await original(store)
        await store.mark_deleted(session)
        await store.erase_session(session)
        assert not await store.fork_session(session, fork_of(source), SessionState(), PART)
        await until(lambda: set(rows(path).values()) == {0})
