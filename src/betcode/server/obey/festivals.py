"""Festivals as last reported by fest and camp. Their files are not read."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from betcode.domain.obey.campaign_events import CampaignEvent
from betcode.domain.values.text import is_valid, shortened
from obey.local.v1 import local_pb2 as pb

# The stages that fest moves a festival through, as this API names them.
_STATUS = {
    "planning": "planned",
    "ready": "planned",
    "ritual": "active",
    "archived": "cancelled",
    "someday": "paused",
}
_TEXT_LENGTH = 500
_LIMIT_BYTES = 1024 * 1024


@dataclass(slots=True)
class _Festival:
    name: str = ""
    status: str = "planned"
    total: int = 0
    tasks: dict[str, bool] = field(default_factory=dict)  # by id: whether it is completed
    updated_ns: int = 0


def festivals_of(events: Iterable[CampaignEvent]) -> list[pb.FestivalState]:
    """Return the festivals of these reports, in the order of their first report; if too many, only the last."""
    found: dict[tuple[str, str], _Festival] = {}
    for event in events:
        if event.festival_id:
            _take(found.setdefault((event.campaign_id, event.festival_id), _Festival()), event)
    states = [_state(*key, festival) for key, festival in found.items()]
    size = sum(state.ByteSize() for state in states)
    while size > _LIMIT_BYTES:
        size -= states.pop(0).ByteSize()
    return states


def _take(festival: _Festival, event: CampaignEvent) -> None:
    payload = json.loads(event.payload) if event.payload else {}
    festival.name = _text(payload, "name") or festival.name
    if event.event_type in ("FESTIVAL_CREATED", "FESTIVAL_STATUS_CHANGED"):
        status = (_text(payload, "status") or _text(payload, "new_status")).rpartition("/")[2]
        festival.status = _STATUS.get(status, status) or festival.status
    total = payload.get("tasks_total")
    if type(total) is int and 0 <= total < 2**32:  # a bool is also an int, but not a valid number here
        festival.total = total
    if event.event_type.startswith("TASK_"):
        festival.tasks[event.task_id] = event.event_type == "TASK_COMPLETED"
    festival.updated_ns = max(festival.updated_ns, event.at_ns)


def _text(payload: dict[str, object], name: str) -> str:
    value = payload.get(name)
    return shortened(value, _TEXT_LENGTH) if isinstance(value, str) and is_valid(value) else ""


def _state(campaign_id: str, festival_id: str, festival: _Festival) -> pb.FestivalState:
    state = pb.FestivalState(
        id=festival_id,
        campaign_id=campaign_id,
        name=festival.name or festival_id,
        status=festival.status,
        tasks_total=max(festival.total, len(festival.tasks)),
        tasks_completed=sum(festival.tasks.values()),
    )
    state.updated_at.FromNanoseconds(festival.updated_ns)
    return state
