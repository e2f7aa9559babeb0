"""Watching what waits for people: rows that change, and looks that tell what is different."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from betcode.domain.store.changes import SavePrompt
from betcode.domain.store.rows import PromptKind, PromptRow, PromptState
from betcode.domain.store.store_ports import Store
from betcode.domain.values.identifiers import RunKey, Seq, SessionKey
from betcode.engine.follow.pending_watch import PendingChanges, watch_pending
from betcode.storage import SqliteStore
from support.patience import PATIENCE_S
from support.storage.rows import new_session, store_at

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with store_at(tmp_path / "log.db") as opened:
        yield opened


def prompt(session: SessionKey, name: str) -> PromptRow:
    return PromptRow(name, session, RunKey(1), PromptKind.PERMISSION, "Bash", "{}", b"", Seq(1), asked_ns=1)


async def test_each_prompt_is_told_when_it_opens_and_when_it_is_resolved(store: SqliteStore) -> None:
    session = await new_session(store)
    with anyio.fail_after(PATIENCE_S):
        async with aclosing(watch_pending(store, None)) as looks:
            assert await anext(looks) == PendingChanges((), ())
            asked = prompt(session, "one")
            await store.commit([SavePrompt(asked)])
            assert [row.request_id for _, row in (await anext(looks)).opened] == ["one"]
            await store.commit([SavePrompt(replace(asked, state=PromptState.ANSWERED, decision="DENY"))])
            (resolved,) = (await anext(looks)).resolved
            assert resolved.row is not None
            assert (resolved.request_id, resolved.row.decision) == ("one", "DENY")


async def test_who_was_busy_is_told_what_is_different_by_then(store: SqliteStore) -> None:
    session = await new_session(store)
    brief, lasting = prompt(session, "brief"), prompt(session, "lasting")
    with anyio.fail_after(PATIENCE_S):
        async with aclosing(watch_pending(store, None)) as looks:
            await anext(looks)
            for number in range(100):
                await store.commit([SavePrompt(replace(brief, extension_count=number)), SavePrompt(lasting)])
            await store.commit([SavePrompt(replace(brief, state=PromptState.WITHDRAWN))])
            look = await anext(looks)
            assert ([row.request_id for _, row in look.opened], look.resolved) == (["lasting"], ())


async def test_a_deleted_session_takes_its_prompts_along(store: SqliteStore) -> None:
    kept, gone = await new_session(store), await new_session(store)
    await store.commit([SavePrompt(prompt(kept, "kept")), SavePrompt(prompt(gone, "gone"))])
    with anyio.fail_after(PATIENCE_S):
        async with aclosing(watch_pending(store, None)) as looks, aclosing(watch_pending(store, kept)) as of_one:
            assert len((await anext(looks)).opened) == 2
            assert [row.request_id for _, row in (await anext(of_one)).opened] == ["kept"]
            await store.mark_deleted(gone)
            (resolved,) = (await anext(looks)).resolved
            assert (resolved.request_id, resolved.row) == ("gone", None)


class Counting:
    """A store that counts how often all open prompts are read."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.looks_at_all = 0

    def __getattr__(self, name: str) -> Any:
        self.looks_at_all += name == "open_prompts"
        return getattr(self._store, name)


async def test_a_change_is_looked_for_alone_and_what_was_missed_is_looked_at_whole(store: SqliteStore) -> None:
    session, counting = await new_session(store), Counting(store)
    await store.commit([SavePrompt(prompt(session, f"before-{number}")) for number in range(50)])
    with anyio.fail_after(PATIENCE_S):
        async with aclosing(watch_pending(cast("Store", counting), None)) as looks:
            assert len((await anext(looks)).opened) == 50
            await store.commit([SavePrompt(prompt(session, "one"))])
            assert [row.request_id for _, row in (await anext(looks)).opened] == ["one"]
            assert counting.looks_at_all == 1
            for number in range(300):  # more than is remembered
                await store.commit([SavePrompt(prompt(session, f"more-{number % 7}"))])
            assert len((await anext(looks)).opened) == 7
            assert counting.looks_at_all == 2
