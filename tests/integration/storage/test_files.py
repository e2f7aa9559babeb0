"""The files: private, set as asked, small, and silent about what is secret."""

import logging
import stat
from pathlib import Path

import anyio
import apsw
import pytest

from betcode.domain.errors import StorageFailed
from betcode.domain.events.search_documents import SearchQuery
from betcode.domain.store.changes import AppendEvents, SaveSession
from betcode.domain.store.rows import SessionState
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import SessionKey
from betcode.storage import open_store
from support.patience import PATIENCE_S
from support.storage.rows import Fatal, ask, events, making, new_session, store_at

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("storage.tables")
async def test_the_database_has_the_tables_of_the_specification(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path) as store:
        session = await store.create_session(making("/here"), SessionState(input_tokens=5, cost_usd=0.5), ())
        await store.commit([AppendEvents(session, events(7))])
    assert ask(path, "SELECT working_directory, input_tokens, cost_usd FROM sessions") == [("/here", 5, 0.5)]
    assert ask(path, "SELECT session, seq, kind, data FROM events") == [(session, 7, 2, events(7)[0].data)]
    tables = {name for (name,) in ask(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"sessions", "events", "runs", "inputs", "pending_permissions", "permission_grants", "blobs"} <= tables
    assert "prompts" not in tables


async def test_every_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "betcode.db"
    async with store_at(path) as store:
        await new_session(store)
        with anyio.fail_after(PATIENCE_S):
            while not (await store.search(SearchQuery("anything"))).complete:
                pass
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    own = {"betcode.db", "betcode.db-wal", "betcode.db-shm", "betcode.db.incarnation", "betcode.db.reserve"}
    assert modes == dict.fromkeys(own | {"search.db", "search.db-wal", "search.db-shm"}, 0o600)


async def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    path.touch(mode=0o644)
    async with store_at(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("durability", "synchronous"), [("normal", 1), ("full", 2)])
async def test_the_writer_keeps_to_the_durability_asked_for(
    tmp_path: Path, durability: str, synchronous: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The pragma belongs to a connection, so the writer's own is caught as it is made.
    made: list[apsw.Connection] = []
    monkeypatch.setattr(apsw, "connection_hooks", [made.append])
    async with open_store(tmp_path / "betcode.db", on_fatal=Fatal(), durability=durability) as store:  # type: ignore[arg-type]
        await store.writable()
        writer = made[0]
        assert writer.pragma("synchronous") == synchronous
        assert writer.pragma("journal_mode") == "wal"
        assert writer.pragma("foreign_keys") == 1
        assert writer.pragma("busy_timeout") == 250
        assert writer.pragma("wal_autocheckpoint") == 0
        assert [each.pragma("query_only") for each in made[1:3]] == [1, 1]


async def test_the_write_ahead_log_stays_small_under_steady_writing(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    largest = 0
    async with store_at(path) as store:
        session = await new_session(store)
        for number in range(1, 250):
            await store.commit([AppendEvents(session, events(number * 10, 10, b"x" * 100_000))])
            largest = max(largest, Path(f"{path}-wal").stat().st_size)
    assert path.stat().st_size > 240_000_000
    assert largest < 130_000_000
    assert not Path(f"{path}-wal").exists()


async def test_an_environment_is_in_no_log_and_no_representation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    new = making(environment={"TOKEN": "a-very-secret-word"})
    async with store_at(tmp_path / "betcode.db") as store:
        session = await store.create_session(new, SessionState(), events(1))
        with pytest.raises(StorageFailed) as refused:
            await store.create_session(new, SessionState(), events(1))
        with pytest.raises(StorageFailed):
            await store.commit([SaveSession(SessionKey(session + 1), SessionState())])
        row = await store.find_session(new.session_id)
        listed = await store.list_sessions(SessionFilter())
    assert row is not None
    assert row.new.environment == {"TOKEN": "a-very-secret-word"}
    said = [repr(row), repr(listed), repr(refused.value), str(refused.value.details), caplog.text]
    assert caplog.text
    assert not any("secret" in text for text in said)
