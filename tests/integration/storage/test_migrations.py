"""Migrations: applied once, with a copy of what was there before, and never backwards."""

import stat
from pathlib import Path

import apsw
import pytest

from betcode.domain.errors import DatabaseUnusable
from betcode.domain.runs.state import RunState
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.rows import SessionState
from betcode.domain.values.identifiers import SessionId
from betcode.storage import open_store
from betcode.storage.migrations import MIGRATIONS, migrate
from support.storage.rows import Fatal, all_events, ask, events, making, new_session, store_at

pytestmark = pytest.mark.anyio


NEXT = len(MIGRATIONS) + 1


def for_the_test(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE second (value INTEGER)")
    db.execute("INSERT INTO second VALUES (2)")


def that_fails(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE second (value INTEGER)")
    raise ValueError("half of it is done")


for each in (for_the_test, that_fails):
    each.__name__ = f"m{NEXT:03}_{each.__name__}"
NEWER = (*MIGRATIONS, for_the_test)


@pytest.mark.behaviour("storage.migrations")
async def test_each_migration_is_applied_once(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    for _ in range(2):
        async with open_store(path, on_fatal=Fatal(), migrations=NEWER):
            assert ask(path, "SELECT value FROM second") == [(2,)]
    assert ask(path, "SELECT number, name FROM migrations") == [
        (1, "m001_the_log"),
        (2, "m002_turns_under_control"),
        (3, "m003_permissions"),
        (4, "m004_worktrees"),
        (5, "m005_session_bindings"),
        (6, "m006_abandoned_turns"),
        (7, "m007_prompts_in_seconds"),
        (NEXT, f"m{NEXT:03}_for_the_test"),
    ]


async def test_a_copy_is_kept_before_an_existing_database_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    copy = tmp_path / f"betcode.db.before-m{NEXT:03}"
    new = making()
    async with store_at(path) as store:
        session = await store.create_session(new, SessionState(), events(1, 3))
    assert not copy.exists()
    async with open_store(path, on_fatal=Fatal(), migrations=NEWER) as store:
        assert len(await all_events(store, session)) == 3
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert ask(copy, "SELECT number FROM migrations") == [(number,) for number in range(1, NEXT)]
    assert ask(copy, "SELECT seq FROM events") == [(1,), (2,), (3,)]
    assert sorted(file.name for file in tmp_path.glob("*unfinished*")) == []


async def test_a_new_database_needs_no_copy(tmp_path: Path) -> None:
    async with open_store(tmp_path / "betcode.db", on_fatal=Fatal(), migrations=NEWER):
        assert list(tmp_path.glob("*before*")) == []


async def test_a_migration_that_fails_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path) as store:
        await new_session(store)
    with pytest.raises(ValueError, match="half of it is done"):
        async with open_store(path, on_fatal=Fatal(), migrations=(*MIGRATIONS, that_fails)):
            pass
    with pytest.raises(apsw.SQLError, match="no such table: second"):
        ask(path, "SELECT * FROM second")
    async with open_store(path, on_fatal=Fatal(), migrations=NEWER):
        assert ask(path, "SELECT count(*) FROM sessions") == [(1,)]


async def test_a_database_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with open_store(path, on_fatal=Fatal(), migrations=NEWER) as store:
        await new_session(store)
    with pytest.raises(DatabaseUnusable, match=r"was written by a newer betcode .* upgrade betcode"):
        async with open_store(path, on_fatal=Fatal()):
            pass
    assert ask(path, "SELECT count(*) FROM sessions") == [(1,)]


@pytest.mark.behaviour("storage.compaction-column", "storage.sessions.lock-column")
async def test_a_database_of_the_first_schema_is_taken_along(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    db = apsw.Connection(str(path))
    migrate(db, path, MIGRATIONS[:1])
    made = ", ".join(f"'{text}'" for text in ("0190a7c8-0000-7000-8000-000000000001", "demo", "/project", ""))
    db.execute(
        "INSERT INTO sessions (session_id, provider, working_directory, worktree_id, created_ns, status, last_seq, "
        "epoch, name, model, conversation_id, conversation_began, turn_interrupted, message_count, input_tokens, "
        f"output_tokens, cost_usd, context_percent, preview, updated_ns) VALUES ({made}, 1, 'idle', 7, 1, 'old', '', "
        "'', 1, 0, 3, 10, 20, 0.5, 1.5, 'hello', 9)"
    )
    db.execute("INSERT INTO session_makings VALUES (1, '', '[]', 0, '{}', NULL)")
    db.execute("INSERT INTO runs VALUES (1, 1, 'run-1', 'backing_off', 1, 2, 3, 4, 5, 1, x'', 1, 9, 'killed')")
    db.execute(
        "INSERT INTO prompts VALUES "
        "(1, 'r-1', 1, 1, 'permission', 'Bash', '{}', x'01', 7, 8, 'open', '', '{}', '', 0, '')"
    )
    db.close()
    async with open_store(path, on_fatal=Fatal()) as store:
        row = await store.find_session(SessionId("0190a7c8-0000-7000-8000-000000000001"))
        prompts = await store.open_prompts(None)
    assert row is not None
    assert (row.state.name, row.state.last_seq, row.state.preview) == ("old", 7, "hello")
    assert (row.state.compaction_sequence, row.new.forked_from) == (0, "")
    assert [(prompt.request_id, prompt.asked_ns) for _, prompt in prompts] == [("r-1", 8)]
    assert row.run_state is RunState.CRASHED  # a person had to go on with it then, and nobody retries it now
    assert row.state.transcript is TranscriptEnd.ABANDONED  # nobody knows how its agent's last turn ended
    assert (tmp_path / "betcode.db.before-m002").exists()
