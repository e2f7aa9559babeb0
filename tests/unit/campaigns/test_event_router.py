"""Reports of camp and fest: checked, and kept once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from betcode.campaigns import EventRouter
from betcode.domain.errors import InvalidRequest, StorageDegraded
from betcode.domain.obey.campaign_events import CampaignEvent

pytestmark = pytest.mark.anyio

MS = 1_000_000


@dataclass
class Kept:
    """Keeps events, unless there is no room."""

    events: list[CampaignEvent] = field(default_factory=list)
    is_full: bool = False

    async def keep_campaign_event(self, event: CampaignEvent) -> None:
        if self.is_full:
            raise StorageDegraded("There is no room on the disk")
        self.events.append(event)

    async def campaign_events(self, campaign_id: str = "", *, limit: int = 1000) -> Sequence[CampaignEvent]:
        return [event for event in self.events if campaign_id in ("", event.campaign_id)][-limit:]


@dataclass
class Clock:
    now_ns: int = 1_000_000_000_000

    def __call__(self) -> int:
        return self.now_ns


async def test_a_report_is_kept_as_it_came() -> None:
    kept, clock = Kept(), Clock()
    router = EventRouter(kept, clock)
    task = "001_IMPLEMENT/01_hcs_service/01_link.md"
    assert await router.report(
        "c1",
        "TASK_COMPLETED",
        b'{"x": 1}',
        at_ns=5,
        festival_id="guild-x-RI-AM0001-000A",
        task_id=task,
        of_festival=True,
    )
    (event,) = kept.events
    assert (event.campaign_id, event.event_type, event.payload) == ("c1", "TASK_COMPLETED", b'{"x": 1}')
    assert (event.at_ns, event.received_ns) == (5, clock.now_ns)
    assert (event.festival_id, event.task_id) == ("guild-x-RI-AM0001-000A", task)


async def test_the_same_report_within_half_a_second_is_one() -> None:
    kept, clock = Kept(), Clock()
    router = EventRouter(kept, clock)
    assert await router.report("c1", "CAMPAIGN_UPDATED", at_ns=7)
    clock.now_ns += 499 * MS
    assert not await router.report("c1", "CAMPAIGN_UPDATED", at_ns=8)
    clock.now_ns += 1 * MS
    assert await router.report("c1", "CAMPAIGN_UPDATED", at_ns=8)
    assert len(kept.events) == 2


async def test_reports_that_differ_are_all_kept() -> None:
    kept = Kept()
    router = EventRouter(kept, Clock())
    assert await router.report("c1", "PROJECT_ADDED", b'{"project": "a"}')
    assert await router.report("c1", "PROJECT_ADDED", b'{"project": "b"}')
    assert await router.report("c2", "PROJECT_ADDED", b'{"project": "a"}')
    assert await router.report("c1", "PROJECT_REMOVED", b'{"project": "a"}')
    for task in ("a", "b"):
        assert await router.report("c1", "TASK_STARTED", festival_id="f", task_id=task, of_festival=True)
    assert len(kept.events) == 6


async def test_what_could_not_be_kept_may_be_reported_again() -> None:
    kept = Kept(is_full=True)
    router = EventRouter(kept, Clock())
    with pytest.raises(StorageDegraded):
        await router.report("c1", "CAMPAIGN_CREATED")
    kept.is_full = False
    assert await router.report("c1", "CAMPAIGN_CREATED")


async def test_a_hundred_reports_are_remembered_and_a_clock_set_back_forgets() -> None:
    kept, clock = Kept(), Clock()
    router = EventRouter(kept, clock)
    for number in range(150):
        assert await router.report(f"c{number}", "CAMPAIGN_CREATED")
    assert not await router.report("c149", "CAMPAIGN_CREATED")
    clock.now_ns -= 10_000 * MS
    assert await router.report("c149", "CAMPAIGN_CREATED", at_ns=1)


@pytest.mark.parametrize(
    ("report", "words"),
    [
        ({"event_type": "CAMPAIGN_EXPLODED"}, "use one of CAMPAIGN_CREATED"),
        ({"event_type": ""}, "Unknown event ''"),
        ({"event_type": "TASK_STARTED"}, "Unknown event 'TASK_STARTED'"),
        ({"campaign_id": ""}, "is not a campaign id"),
        ({"campaign_id": "a\nb"}, "is not a campaign id"),
        ({"payload": b"{"}, "must be JSON"),
        ({"payload": b"\xff"}, "must be JSON"),
        ({"payload": b"[]"}, "must be a JSON object"),
        ({"payload": b"[" * 60_000}, "must be JSON"),
        ({"payload": b" " * 70_000}, "at most 65536 bytes"),
        ({"task_id": "a\nb"}, "is not an id"),
        ({"festival_id": "x" * 1025}, "is not an id"),
        ({"event_type": "TASK_STARTED", "of_festival": True}, "needs its festival_id"),
        ({"event_type": "CAMPAIGN_CREATED", "of_festival": True, "festival_id": "f"}, "use one of FESTIVAL_CREATED"),
    ],
)
async def test_what_can_be_no_such_event_is_refused(report: dict[str, object], words: str) -> None:
    kept = Kept()
    said: dict[str, object] = {"campaign_id": "c1", "event_type": "CAMPAIGN_CREATED", **report}
    with pytest.raises(InvalidRequest) as refusal:
        await EventRouter(kept, Clock()).report(**said)  # type: ignore[arg-type]
    assert words in refusal.value.message
    assert refusal.value.message.isprintable()
    assert kept.events == []
