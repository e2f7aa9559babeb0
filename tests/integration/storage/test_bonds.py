"""What sessions are bound to and what others report, on disk."""

from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.obey.activities import PushedActivity
from betcode.domain.obey.campaign_events import CampaignEvent
from betcode.domain.runs.state import RunState
from betcode.domain.sessions.binding import NO_BINDING_RECORD, BindingRecord, DueSession, SessionBinding
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import SaveBinding, SaveMetadata, SaveRun, SaveSession
from betcode.domain.store.rows import NewRun, SessionState
from betcode.domain.values.identifiers import new_run_id
from betcode.storage import SqliteStore
from support.storage.rows import events, making, new_session, store_at

pytestmark = pytest.mark.anyio

BOND = SessionBinding("C", "F", "T", "sess_parent", 2, 3, 4, "why", 5, 6, 7)


async def test_a_bond_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    new = making()
    async with store_at(tmp_path / "db") as store:
        bound = await store.create_session(new, SessionState(), events(1), BOND)
        other = await new_session(store)
        await store.commit([SaveBinding(other, SessionBinding("D")), SaveMetadata(bound, {"provider_config.a": "b"})])
    async with store_at(tmp_path / "db") as store:
        assert await store.bound(bound) == BindingRecord(BOND)
        assert await store.all_bound() == {bound: BindingRecord(BOND), other: BindingRecord(SessionBinding("D"))}
        row = await store.find_session(new.session_id)
        assert row is not None
        assert row.new.metadata == {"provider_config.a": "b"}
        await store.mark_deleted(bound)
        assert await store.bound(bound) == NO_BINDING_RECORD


async def test_runs_tell_when_a_session_began_and_how_its_agent_crashed(tmp_path: Path) -> None:
    async with store_at(tmp_path / "db") as store:
        session = await new_session(store)
        first = await store.create_run(NewRun(session, new_run_id(), 100))
        await store.commit([SaveRun(replace(first, state=RunState.EXITED, exit_note="as told"))])
        assert await store.bound(session) == BindingRecord(first_run_ns=100)
        second = await store.create_run(NewRun(session, new_run_id(), 200))
        await store.commit([SaveRun(replace(second, state=RunState.CRASHED, exit_note="killed"))])
        assert await store.bound(session) == BindingRecord(first_run_ns=100, crash_note="killed")


async def test_what_is_due_is_found_until_the_session_is_closed(tmp_path: Path) -> None:
    async with store_at(tmp_path / "db") as store:
        keys = []
        for binding in (
            SessionBinding(deadline_ns=5),
            SessionBinding(stop_by_ns=6),
            SessionBinding("C"),
            SessionBinding(deadline_ns=7),
        ):
            new = making()
            keys.append((new.session_id, await store.create_session(new, SessionState(), events(1), binding)))
        await store.commit([SaveSession(keys[3][1], SessionState(status=SessionStatus.CLOSED))])
        assert list(await store.unfinished()) == [
            DueSession(keys[0][0], SessionBinding(deadline_ns=5)),
            DueSession(keys[1][0], SessionBinding(stop_by_ns=6)),
        ]


def activity(number: int) -> PushedActivity:
    return PushedActivity("theirs", "AGENT_THINKING", f"{number}", "", "", b"{}", "", True, number, number)


async def kept(store: SqliteStore) -> tuple[list[str], list[str]]:
    happened = await store.reports.campaign_events()
    return [each.event_id for each in happened], [row.content for _, row in await store.reports.activities_after(0, 99)]


async def test_reports_are_kept_once_and_let_go_when_they_are_old(tmp_path: Path) -> None:
    async with store_at(tmp_path / "db") as store:
        reports = store.reports
        for number, campaign in enumerate(("C", "D", "C"), 1):
            event = CampaignEvent(f"e{number}", campaign, "PROJECT_ADDED", b"{}", 1, number * 10, "F", "T")
            await reports.keep_campaign_event(event)
            await reports.keep_campaign_event(event)
        assert [each.event_id for each in await reports.campaign_events("C")] == ["e1", "e3"]
        assert [each.event_id for each in await reports.campaign_events(limit=2)] == ["e2", "e3"]
        assert (await reports.campaign_events("D"))[0] == CampaignEvent(
            "e2", "D", "PROJECT_ADDED", b"{}", 1, 20, "F", "T"
        )
        assert await reports.keep_activities([activity(1), activity(2)]) == await reports.newest_activity()
        newest = await reports.newest_activity()
        await reports.keep_activities([activity(3)])
        assert [row for _, row in await reports.activities_after(newest, 99)] == [activity(3)]
        assert await reports.forget_reports(20, 2) == 2
        assert await kept(store) == (["e2", "e3"], ["2", "3"])
