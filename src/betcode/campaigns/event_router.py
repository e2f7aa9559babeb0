"""Reports of camp and fest: validated, deduplicated, and stored."""

import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable

from betcode.domain.errors import InvalidRequest
from betcode.domain.obey.campaign_events import CAMPAIGN_EVENTS, FESTIVAL_EVENTS, CampaignEvent, CampaignEvents
from betcode.domain.obey.campaigns import is_identifier, is_name_of_a_part
from betcode.domain.values.identifiers import time_ordered_uuid
from betcode.domain.values.text import shortened

_WINDOW_NS = 500_000_000  # the same report within it is a repeat
_REMEMBERED = 100
_PAYLOAD_BYTES = 64 * 1024
_IDS = (
    "id",
    "project_id",
    "phase_id",
    "sequence_id",
    "task_id",
    "project",
    "phase",
    "sequence",
    "task",
    "name",
    "status",
)


class EventRouter:
    """Stores each event once, whoever reports it and however often. The daemon has one router."""

    def __init__(self, events: CampaignEvents, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._events = events
        self._now_ns = now_ns
        self._recent: OrderedDict[str, int] = OrderedDict()  # when each was received, the oldest first

    async def report(
        self,
        campaign_id: str,
        event_type: str,
        payload: bytes = b"",
        *,
        at_ns: int = 0,
        festival_id: str = "",
        task_id: str = "",
        of_festival: bool = False,
    ) -> bool:
        """Store one event; False: it was reported just before. `at_ns` 0 means now.

        Raises:
            InvalidRequest: it is not a valid event.
            StorageDegraded, StorageFailed: it was not stored, and may be reported again.
        """
        _refuse(campaign_id, event_type, payload, festival_id, task_id, of_festival)
        now_ns = self._now_ns()
        event = CampaignEvent(
            time_ordered_uuid(), campaign_id, event_type, payload, at_ns or now_ns, now_ns, festival_id, task_id
        )
        key = _key(event, of_festival)
        self._forget(now_ns)
        if key in self._recent:
            return False
        self._recent[key] = now_ns
        try:
            await self._events.keep_campaign_event(event)
        except BaseException:
            self._recent.pop(key, None)
            raise
        return True

    def _forget(self, now_ns: int) -> None:
        while self._recent:
            oldest = next(iter(self._recent.values()))
            # A clock that was set back would keep them too long.
            if len(self._recent) < _REMEMBERED and 0 <= now_ns - oldest < _WINDOW_NS:
                return
            self._recent.popitem(last=False)


def _key(event: CampaignEvent, of_festival: bool) -> str:
    """Return the key of a report: two with the same key are one, such as a program's report and its file."""
    said = json.loads(event.payload) if event.payload else {}
    ids = {name: said[name] for name in _IDS if isinstance(said.get(name), str)}
    about = f"festival:{event.festival_id}" if of_festival else f"campaign:{event.campaign_id}"
    moment = event.at_ns // _WINDOW_NS
    facts = [about, event.campaign_id, event.event_type, moment, event.task_id, ids]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _refuse(
    campaign_id: str, event_type: str, payload: bytes, festival_id: str, task_id: str, of_festival: bool
) -> None:
    known = FESTIVAL_EVENTS if of_festival else CAMPAIGN_EVENTS
    if event_type not in known:
        raise InvalidRequest(f"Unknown event {_shown(event_type)}: use one of {', '.join(sorted(known))}")
    if not is_identifier(campaign_id):
        raise InvalidRequest(f"{_shown(campaign_id)} is not a campaign id: use at most 256 letters, digits and _ . : -")
    if of_festival and not festival_id:
        raise InvalidRequest("An event of a festival needs its festival_id")
    for text in (festival_id, task_id):
        if not is_name_of_a_part(text):
            raise InvalidRequest(f"{_shown(text)} is not an id: it is too long or has unprintable characters")
    if len(payload) > _PAYLOAD_BYTES:
        raise InvalidRequest(f"The payload of an event may have at most {_PAYLOAD_BYTES} bytes")
    try:
        said = json.loads(payload) if payload else {}
    except (ValueError, RecursionError):
        raise InvalidRequest("The payload of an event must be JSON") from None
    if not isinstance(said, dict):
        raise InvalidRequest("The payload of an event must be a JSON object")


def _shown(text: str) -> str:
    return f"{shortened(text, 100)!a}"
