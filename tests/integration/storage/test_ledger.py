"""Prompts, grants and the audit as rows."""

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from betcode.domain.permissions.audit import (
    AuditEntry,
    AuditFilter,
    AuditKind,
    AuditVerification,
    DecidedBy,
    input_hash,
)
from betcode.domain.store.changes import AddAudit, AddGrant, ClearGrant, SavePrompt
from betcode.domain.store.rows import GrantRow, PromptKind, PromptRow, PromptState, SessionState
from betcode.domain.values.identifiers import RunKey, Seq, SessionKey
from betcode.storage import SqliteStore
from support.storage.rows import making, new_session, store_at

pytestmark = pytest.mark.anyio

SEED_COLUMNS = {
    "request_id", "session_id", "tool_name", "tool_description", "input", "received_at", "forwarded_at", "expires_at",
    "last_extended_at", "extension_count", "reminder_1h_sent", "reminder_24h_sent", "push_notification_id",
    "response_received", "response_decision", "response_at",
}  # fmt: skip


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with store_at(tmp_path / "log.db") as opened:
        yield opened


@pytest.fixture
async def session(store: SqliteStore) -> SessionKey:
    return await new_session(store)


def prompt(session: SessionKey, state: PromptState = PromptState.OPEN, decision: str = "") -> PromptRow:
    return PromptRow(
        request_id=f"r-{state}-{decision}",
        session=session,
        run=RunKey(1),
        kind=PromptKind.PERMISSION,
        tool_name="Bash",
        input_json='{"command": "make"}',
        event=b"shown",
        seq=Seq(4),
        asked_ns=5,
        state=state,
        decision=decision,
        description="Build it",
        tool_use_id="toolu_1",
        agent_id="toolu_0",
        message="not now",
        updated_input='{"command": "make -n"}',
        grant_pattern="Bash(make *)",
        superseded_by="r-2",
        forwarded_ns=6,
        expires_ns=7,
        last_extended_ns=8,
        extension_count=9,
        reminders_sent=2,
        push_notification_id="n-1",
    )


def entry(number: int) -> AuditEntry:
    return AuditEntry(
        at_ns=number,
        session_id="a session" if number % 2 else "another",
        request_id=f"r-{number}",
        tool_name="Bash",
        input_sha256=input_hash('{"command": "make"}'),
        what=AuditKind.DECISION,
        outcome="allow",
        decided_by=DecidedBy.RULE,
        rule="Bash(make *) (settings.json:3)",
    )


def database(tmp_path: Path) -> apsw.Connection:
    return apsw.Connection(str(tmp_path / "log.db"))


def indexed(db: apsw.Connection, name: str) -> tuple[list[str], str]:
    """The columns of an index, and the rows that it is limited to."""
    columns = [row[2] for row in db.execute(f"PRAGMA index_info({name})")]
    [(made,)] = db.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?", (name,))
    return columns, " ".join(made.partition("WHERE")[2].split())


async def test_a_prompt_is_read_as_it_was_written(store: SqliteStore, session: SessionKey) -> None:
    row = prompt(session)
    await store.commit([SavePrompt(row)])
    assert [found for _, found in await store.open_prompts(session)] == [row]


@pytest.mark.behaviour("permission.store.columns", "permission.store.indexes")
async def test_the_ledger_has_the_columns_and_indexes_that_were_asked_for(store: SqliteStore, tmp_path: Path) -> None:
    db = database(tmp_path)
    columns = {row[1]: row for row in db.execute("PRAGMA table_xinfo(pending_permissions)")}
    assert columns.keys() >= SEED_COLUMNS
    assert columns["request_id"][5] == 1, "the request's id is the primary key"
    assert indexed(db, "idx_pending_session") == (["session_id"], "")
    assert indexed(db, "idx_pending_expires") == (["expires_at"], "response_received = 0")
    assert indexed(db, "idx_pending_reminders") == (["reminder_1h_sent", "reminder_24h_sent"], "response_received = 0")


@pytest.mark.behaviour("permission.store.decisions")
@pytest.mark.parametrize(
    ("state", "decision", "stored"),
    [
        (PromptState.OPEN, "", None),
        (PromptState.ANSWERED, "ALLOW_ONCE", "allow_once"),
        (PromptState.ANSWERED, "ALLOW_WITH_EDIT", "allow_once"),
        (PromptState.ANSWERED, "ALLOW_SESSION", "allow_session"),
        (PromptState.ANSWERED, "DENY", "deny"),
        (PromptState.ANSWERED, "DENY_WITH_INTERRUPT", "deny"),
        (PromptState.EXPIRED, "", "expired"),
        (PromptState.WITHDRAWN, "", None),
    ],
)
async def test_what_was_decided_is_stored_in_one_of_four_words(
    store: SqliteStore, session: SessionKey, tmp_path: Path, state: PromptState, decision: str, stored: str | None
) -> None:
    await store.commit([SavePrompt(prompt(session, state, decision))])
    row = database(tmp_path).execute("SELECT response_received, response_decision FROM pending_permissions").fetchall()
    assert row == [(int(state is not PromptState.OPEN), stored)]


@pytest.mark.behaviour("permission.grant.session-scope")
async def test_a_grant_is_its_sessions_alone_and_can_be_taken_back(store: SqliteStore, session: SessionKey) -> None:
    other = await new_session(store)
    build = GrantRow(session, "Bash", "Bash(make *)", allows=True, created_ns=1, granted_by="cli", request_id="r-1")
    edit = GrantRow(session, "Edit", "", allows=True, created_ns=2)
    await store.commit([AddGrant(build), AddGrant(edit)])
    assert await store.grants(session) == [build, edit]
    assert await store.grants(other) == []
    await store.commit([ClearGrant(session, "Bash", "Bash(ls)"), ClearGrant(session, "Edit", "")])
    assert await store.grants(session) == [build]
    await store.commit([ClearGrant(session, "Bash", "Bash(make *)")])
    assert await store.grants(session) == []


async def test_the_audit_is_read_in_order_and_by_session(store: SqliteStore) -> None:
    await store.commit([AddAudit(entry(1)), AddAudit(entry(2))])
    await store.commit([AddAudit(entry(3))])
    rows = await store.audit_page(AuditFilter(), None, 10)
    assert [(row.number, row.entry) for row in rows] == [(number, entry(number)) for number in (1, 2, 3)]
    assert [row.number for row in await store.audit_page(AuditFilter("a session"), 1, 10)] == [3]


@pytest.mark.parametrize("harm", ["UPDATE audit SET outcome = 'deny'", "DELETE FROM audit"])
async def test_rows_of_the_audit_stay_as_they_are(store: SqliteStore, tmp_path: Path, harm: str) -> None:
    await store.commit([AddAudit(entry(1))])
    with pytest.raises(apsw.ConstraintError, match="only added to"):
        database(tmp_path).execute(harm)


@pytest.mark.parametrize(
    "harm", ["UPDATE audit SET outcome = 'deny' WHERE number = 2", "DELETE FROM audit WHERE number = 2"]
)
async def test_a_row_that_was_changed_behind_our_back_is_found(store: SqliteStore, tmp_path: Path, harm: str) -> None:
    await store.commit([AddAudit(entry(number)) for number in (1, 2, 3)])
    db = database(tmp_path)
    db.execute("DROP TRIGGER audit_is_not_changed")
    db.execute("DROP TRIGGER audit_is_not_deleted")
    db.execute(harm)
    assert (await store.check_audit(AuditVerification(), 10)).broken == 2


async def test_an_audit_outlives_its_session(store: SqliteStore) -> None:
    new = making()
    key = await store.create_session(new, SessionState(), ())
    await store.commit([AddAudit(entry(1))])
    await store.mark_deleted(key)
    assert await store.find_session(new.session_id) is None
    assert len(await store.audit_page(AuditFilter(), None, 10)) == 1
