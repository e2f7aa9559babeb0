"""Reading a log in pages gives each event once and in order, however the pages are cut."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from betcode.domain.changes import AppendEvents
from betcode.domain.identifiers import Seq
from betcode.domain.rows import StoredEvent
from betcode.storage import SqliteStore
from support.stored import new_session, store_at

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with store_at(tmp_path / "betcode.db") as opened:
        yield opened


logs = st.lists(st.tuples(st.integers(1, 3) | st.just(1_000_000), st.binary(max_size=300)), min_size=1, max_size=120)


@pytest.mark.behaviour("events.sequence.monotonic", "events.sequence.persisted")
@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # each example has its own session
@given(log=logs, batch=st.integers(1, 100), limit_bytes=st.integers(0, 2_000))
async def test_any_limit_gives_each_event_once_and_in_order(
    store: SqliteStore, log: list[tuple[int, bytes]], batch: int, limit_bytes: int
) -> None:
    session, neighbour = await new_session(store), await new_session(store)
    stored: list[StoredEvent] = []
    for step, data in log:
        stored.append(StoredEvent(Seq(step + (stored[-1].seq if stored else 0)), 1, data))
    for start in range(0, len(stored), batch):
        await store.commit([AppendEvents(session, tuple(stored[start : start + batch]))])
    await store.commit([AppendEvents(neighbour, (StoredEvent(Seq(1), 1, b"another's"),))])

    after, found = Seq(0), 0
    while (page := await store.read_events(session, after, limit_bytes)) is not None:
        expected = stored[found : found + len(page.events)]
        assert page.events == tuple(event.data for event in expected)
        assert (page.first, page.last) == (expected[0].seq, expected[-1].seq)
        size = sum(map(len, page.events))
        assert size <= limit_bytes or len(page.events) == 1
        after, found = page.last, found + len(page.events)
    assert found == len(stored)
