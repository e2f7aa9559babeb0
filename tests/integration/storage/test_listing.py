"""Lists of sessions: filters, pages, totals and order."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from betcode.domain.runs.state import RunState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import SavePrompt, SaveSession
from betcode.domain.store.rows import NewRun, PromptKind, PromptRow, SessionState
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import Seq, SessionKey, new_run_id
from betcode.storage import SqliteStore
from support.storage.rows import making, new_session, store_at

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with store_at(tmp_path / "betcode.db") as opened:
        yield opened


async def keys(store: SqliteStore, which: SessionFilter) -> tuple[list[SessionKey], int]:
    rows, total = await store.list_sessions(which)
    return [row.key for row in rows], total


@pytest.mark.behaviour("session.list.all", "session.list.times")
async def test_without_filters_every_session_is_listed_newest_change_first(store: SqliteStore) -> None:
    made = [await new_session(store, updated_ns=updated) for updated in (5, 9, 1, 9)]
    assert await keys(store, SessionFilter()) == ([made[3], made[1], made[0], made[2]], 4)
    await store.commit([SaveSession(made[2], SessionState(updated_ns=10))])
    assert (await keys(store, SessionFilter()))[0][0] == made[2]


@pytest.mark.behaviour("session.list.by-directory", "session.list.status")
async def test_filters_select_and_the_total_counts_what_they_select(store: SqliteStore) -> None:
    here = await new_session(store, "/here", 1)
    await new_session(store, "/here/below", 2)
    tree = await store.create_session(making("/here", worktree_id="w"), SessionState(updated_ns=3), ())
    await store.commit([SaveSession(here, SessionState(status=SessionStatus.IDLE, updated_ns=4))])
    assert await keys(store, SessionFilter(working_directory="/here")) == ([here, tree], 2)
    assert await keys(store, SessionFilter(worktree_id="w")) == ([tree], 1)
    assert await keys(store, SessionFilter(statuses=("idle", "closed"))) == ([here], 1)
    assert await keys(store, SessionFilter(working_directory="/here", statuses=("new",))) == ([tree], 1)
    assert await keys(store, SessionFilter(working_directory="/nowhere")) == ([], 0)


@pytest.mark.behaviour("session.list.paging")
async def test_the_pages_together_hold_every_session_once(store: SqliteStore) -> None:
    made = {await new_session(store, updated_ns=number // 3) for number in range(23)}
    listed: list[SessionKey] = []
    for offset in range(0, 30, 5):
        page, total = await keys(store, SessionFilter(limit=5, offset=offset))
        assert total == 23
        listed += page
    assert len(listed) == 23
    assert set(listed) == made


@pytest.mark.behaviour("session.list.counts", "session.list.preview")
async def test_a_listed_session_carries_its_counts_its_prompts_and_its_newest_run(store: SqliteStore) -> None:
    state = SessionState(message_count=3, input_tokens=10, output_tokens=20, cost_usd=0.5, preview="the last words")
    key = await store.create_session(making(), state, ())
    await store.create_run(NewRun(key, new_run_id(), 1))
    run = await store.create_run(NewRun(key, new_run_id(), 2))
    prompts = [
        PromptRow(f"q{n}", key, run.key, PromptKind.PERMISSION, "Bash", "{}", b"", Seq(n), asked_ns=n) for n in (1, 2)
    ]
    await store.commit([SavePrompt(prompt) for prompt in prompts])
    (row,), total = await store.list_sessions(SessionFilter())
    assert (row.state, row.pending_prompts, row.run_state, total) == (state, 2, RunState.SPAWNING, 1)


@pytest.mark.behaviour("session.list.paging")
async def test_a_page_is_a_page_among_ten_thousand_sessions(store: SqliteStore) -> None:
    for _ in range(50):
        async with anyio.create_task_group() as tasks:
            for number in range(200):
                tasks.start_soon(new_session, store, f"/{number % 40}", number)
    filters = [
        SessionFilter(),
        SessionFilter(offset=9_900),
        SessionFilter(working_directory="/7"),
        SessionFilter(statuses=("new",)),
    ]
    for which in filters:
        rows, total = await store.list_sessions(which)
        assert len(rows) == 50, which
        assert total == (250 if which.working_directory else 10_000), which
