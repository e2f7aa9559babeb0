"""The audit's chain: which rows are found, and what is noticed when somebody wrote into the file."""

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from betcode.domain.errors import DatabaseUnusable
from betcode.domain.permissions.audit import (
    FIRST_HASH,
    AuditEntry,
    AuditFilter,
    AuditHead,
    AuditKind,
    AuditVerification,
    DecidedBy,
)
from betcode.domain.store.changes import AddAudit
from betcode.storage import SqliteStore, check_file
from support.storage.rows import store_at

# A table that takes values of any type, in place of ours.
LOOSE = "CREATE TABLE loose AS SELECT * FROM audit; DROP TABLE audit; ALTER TABLE loose RENAME TO audit;"

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with store_at(tmp_path / "log.db") as opened:
        yield opened


def entry(at_ns: int, session: str = "s") -> AuditEntry:
    decision = (AuditKind.DECISION, "allow", DecidedBy.RULE)
    return AuditEntry(at_ns, session, f"r-{at_ns}", "Bash", "00" * 32, *decision, rule="allow Bash")


async def numbers(store: SqliteStore, which: AuditFilter, after: int | None = None, limit: int = 100) -> list[int]:
    return [row.number for row in await store.audit_page(which, after, limit)]


async def whole(store: SqliteStore, noted: AuditHead | None = None) -> AuditVerification:
    checked = AuditVerification()
    while not checked.complete:
        checked = await store.check_audit(checked, 2, noted)
    return checked


async def test_rows_are_found_by_time_session_and_number(store: SqliteStore) -> None:
    # The clock went back once: the third is older than the second.
    times = [(10, "a"), (30, "b"), (20, "a"), (40, "a"), (50, "b")]
    await store.commit([AddAudit(entry(at, session)) for at, session in times])
    assert await numbers(store, AuditFilter()) == [1, 2, 3, 4, 5]
    assert await numbers(store, AuditFilter(since_ns=30)) == [2, 4, 5]
    assert await numbers(store, AuditFilter(since_ns=20, until_ns=50)) == [2, 3, 4]
    assert await numbers(store, AuditFilter(session_id="a")) == [1, 3, 4]
    assert await numbers(store, AuditFilter(session_id="a", newest=2)) == [3, 4]
    assert await numbers(store, AuditFilter(newest=2, until_ns=50)) == [3, 4]
    assert await numbers(store, AuditFilter(newest=9)) == [1, 2, 3, 4, 5]
    assert await numbers(store, AuditFilter(since_ns=60)) == []
    assert await numbers(store, AuditFilter(since_ns=20), limit=2) == [2, 3]
    assert await numbers(store, AuditFilter(since_ns=20), after=3, limit=2) == [4, 5]


async def test_listing_uses_an_index_whatever_is_asked_for(store: SqliteStore, tmp_path: Path) -> None:
    await store.commit([AddAudit(entry(1))])
    with apsw.Connection(str(tmp_path / "log.db")) as db:
        plans = [
            str(db.execute(f"EXPLAIN QUERY PLAN SELECT {what}").fetchall())
            for what in (
                "min(number) FROM audit WHERE at_ns >= 1",
                "max(number) FROM audit WHERE at_ns < 9",
                "* FROM audit WHERE number > 1 AND number <= 5 AND +at_ns >= 1 ORDER BY number LIMIT 5",
                "* FROM audit WHERE number > 1 AND +at_ns >= 1 AND session_id = 's' ORDER BY number DESC LIMIT 5",
            )
        ]
    assert all("SEARCH audit" in plan and "SORT" not in plan and "B-TREE" not in plan for plan in plans), plans


async def test_an_empty_audit_is_whole(store: SqliteStore) -> None:
    assert await whole(store) == AuditVerification(0, 0, FIRST_HASH, complete=True)


async def test_a_whole_chain_gives_its_count_and_head(store: SqliteStore) -> None:
    await store.commit([AddAudit(entry(at)) for at in range(5)])
    checked = await whole(store)
    last = (await store.audit_page(AuditFilter(newest=1), None, 1))[0]
    assert checked == AuditVerification(5, 5, last.hash, complete=True)


@pytest.mark.parametrize(
    ("harm", "broken", "why"),
    [
        ("UPDATE audit SET outcome = 'deny' WHERE number = 3", 3, "was changed"),
        ("UPDATE audit SET what = 'invented' WHERE number = 3", 3, "was changed"),
        ("UPDATE audit SET hash = zeroblob(32) WHERE number = 3", 3, "was changed"),
        ("DELETE FROM audit WHERE number = 3", 3, "is missing"),
        ("DELETE FROM audit WHERE number = 1", 1, "is missing"),
        ("DELETE FROM audit WHERE number <= 4", 1, "is missing"),
        ("UPDATE audit SET number = 0 WHERE number = 5", 0, "is numbered before the first row"),
        ("UPDATE audit SET note = CAST(x'ff' AS TEXT) WHERE number = 3", 3, "was changed"),
        (f"{LOOSE} UPDATE audit SET note = x'00ff' WHERE number = 3", 3, "was changed"),
        (f"{LOOSE} UPDATE audit SET at_ns = NULL WHERE number = 3", 3, "was changed"),
        (f"{LOOSE} UPDATE audit SET number = 'x' WHERE number = 3", 3, "is missing"),
        (f"{LOOSE} UPDATE audit SET number = 'x' WHERE number = 5", 5, "has no number"),
    ],
)
async def test_the_first_broken_row_is_named(
    store: SqliteStore, tmp_path: Path, harm: str, broken: int, why: str
) -> None:
    await store.commit([AddAudit(entry(at)) for at in range(5)])
    behind_our_back(tmp_path / "log.db", harm)
    checked = await whole(store)
    assert checked.broken == broken
    assert checked.why.startswith(f"row {broken} {why}")
    assert await numbers(store, AuditFilter())  # what is broken can still be listed


async def test_a_cut_end_shows_only_against_a_head_that_was_noted(store: SqliteStore, tmp_path: Path) -> None:
    await store.commit([AddAudit(entry(at)) for at in range(5)])
    noted = AuditHead(5, (await whole(store)).head)
    behind_our_back(tmp_path / "log.db", "DELETE FROM audit WHERE number > 3")
    assert (await whole(store)).broken is None
    checked = await whole(store, noted)
    assert (checked.rows, checked.broken) == (3, 4)
    assert "missing" in checked.why
    await store.commit([AddAudit(entry(at)) for at in (7, 8, 9)])
    checked = await whole(store, noted)
    assert (checked.rows, checked.broken) == (4, 5)
    assert "differs from the given head" in checked.why


async def test_a_noted_head_that_is_still_there_is_fine(store: SqliteStore) -> None:
    await store.commit([AddAudit(entry(at)) for at in range(3)])
    noted = AuditHead(3, (await whole(store)).head)
    await store.commit([AddAudit(entry(9))])
    assert (await whole(store, noted)).broken is None


async def test_a_file_is_checked_without_a_daemon(tmp_path: Path) -> None:
    async with store_at(tmp_path / "log.db") as store:
        await store.commit([AddAudit(entry(at)) for at in range(5)])
        expected = await whole(store)
    steps = list(check_file(tmp_path / "log.db", limit=2))
    assert [step.rows for step in steps] == [2, 4, 5]
    assert steps[-1] == expected


async def test_a_file_without_an_audit_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(DatabaseUnusable, match="no database"):
        list(check_file(tmp_path / "nothing.db"))
    with apsw.Connection(str(tmp_path / "other.db")) as db:
        db.execute("CREATE TABLE t (x)")
    with pytest.raises(DatabaseUnusable, match="has no audit"):
        list(check_file(tmp_path / "other.db"))
    (tmp_path / "noise.db").write_bytes(b"noise" * 1000)
    with pytest.raises(DatabaseUnusable, match="not an SQLite database"):
        list(check_file(tmp_path / "noise.db"))


def behind_our_back(path: Path, harm: str) -> None:
    db = apsw.Connection(str(path))
    try:
        db.execute("DROP TRIGGER audit_is_not_changed")
        db.execute("DROP TRIGGER audit_is_not_deleted")
        db.execute(harm)
    finally:
        db.close()
