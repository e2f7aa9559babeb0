"""Reading a log in pages gives each event once and in order, however the pages are cut."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from betcode.domain.store.changes import AppendEvents
from betcode.domain.store.rows import StoredEvent
from betcode.domain.values.identifiers import Seq, SessionKey
from betcode.storage import SqliteStore
from support.storage.rows import new_session, store_at

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with store_at(tmp_path / "betcode.db") as opened:
        yield opened


async def session_of(
    store: SqliteStore, log: list[tuple[int, bytes]], batch: int
) -> tuple[SessionKey, list[StoredEvent]]:
    """A session with these events between two others; each step is how far a number is from the one before."""
    before, session, behind = [await new_session(store) for _ in range(3)]
    stored: list[StoredEvent] = []
    for step, data in log:
        stored.append(StoredEvent(Seq(step + (stored[-1].seq if stored else 0)), 1, data))
    for start in range(0, len(stored), batch):
        await store.commit([AppendEvents(session, tuple(stored[start : start + batch]))])
    for neighbour in (before, behind):
        await store.commit([AppendEvents(neighbour, (StoredEvent(Seq(1), 1, b"another's"),))])
    return session, stored


logs = st.lists(st.tuples(st.integers(1, 3) | st.just(1_000_000), st.binary(max_size=300)), min_size=1, max_size=120)


each_in_its_own_session = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.behaviour("events.sequence.monotonic", "events.sequence.persisted")
@each_in_its_own_session
@given(log=logs, batch=st.integers(1, 100), limit_bytes=st.integers(0, 2_000))
async def test_any_limit_gives_each_event_once_and_in_order(
    store: SqliteStore, log: list[tuple[int, bytes]], batch: int, limit_bytes: int
) -> None:
    session, stored = await session_of(store, log, batch)
    after, found = Seq(0), 0
    while (page := await store.read_events(session, after, limit_bytes)) is not None:
        expected = stored[found : found + len(page.events)]
        assert page.events == tuple(event.data for event in expected)
        assert (page.first, page.last) == (expected[0].seq, expected[-1].seq)
        size = sum(map(len, page.events))
        assert size <= limit_bytes or len(page.events) == 1
        after, found = page.last, found + len(page.events)
    assert found == len(stored)


@pytest.mark.behaviour("events.sequence.persisted")
@each_in_its_own_session
@given(
    log=logs,
    limit_bytes=st.integers(0, 2_000),
    limit_events=st.integers(1, 50),
    not_before=st.integers(0, 60),
    before=st.integers(1, 130) | st.just(2**64 - 1),
)
async def test_pages_backwards_are_what_pages_forwards_are(
    store: SqliteStore, log: list[tuple[int, bytes]], limit_bytes: int, limit_events: int, not_before: int, before: int
) -> None:
    session, stored = await session_of(store, log, 50)
    wanted = [event for event in stored if not_before <= event.seq < before]

    found: list[bytes] = []
    has_more, at = True, before
    while has_more:
        page = await store.read_before(session, Seq(at), Seq(not_before), limit_bytes, limit_events)
        assert page.events or not found
        assert sum(map(len, page.events)) <= limit_bytes or len(page.events) == 1
        assert len(page.events) <= limit_events
        found[:0] = page.events
        has_more = page.has_more
        at = wanted[-len(found)].seq if found else at
    assert found == [event.data for event in wanted]
