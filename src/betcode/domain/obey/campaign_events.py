"""Events of campaigns and festivals that camp and fest report, and the port to the store that holds them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

CAMPAIGN_EVENTS = frozenset(
    {"CAMPAIGN_CREATED", "CAMPAIGN_UPDATED", "CAMPAIGN_DELETED", "PROJECT_ADDED", "PROJECT_REMOVED"}
)
FESTIVAL_EVENTS = frozenset(
    {
        "FESTIVAL_CREATED",
        "FESTIVAL_STATUS_CHANGED",
        "PHASE_CHANGED",
        "SEQUENCE_STARTED",
        "SEQUENCE_COMPLETED",
        "TASK_STARTED",
        "TASK_COMPLETED",
        "TASK_FAILED",
        "TASK_BLOCKED",
    }
)


@dataclass(frozen=True, slots=True)
class CampaignEvent:
    """One report. Ids of festivals and tasks are stored unchanged: their spellings differ."""

    event_id: str
    campaign_id: str
    event_type: str  # one of the sets above
    payload: bytes  # a JSON object, or empty
    at_ns: int  # when it happened, according to the reporter
    received_ns: int
    festival_id: str = ""
    task_id: str = ""


class CampaignEvents(Protocol):
    async def keep_campaign_event(self, event: CampaignEvent) -> None:
        """Store it, unless one with the same `event_id` is stored.

        Raises:
            StorageDegraded, StorageFailed
        """
        ...

    async def campaign_events(self, campaign_id: str = "", *, limit: int = 1000) -> Sequence[CampaignEvent]:
        """The newest of one campaign, or of all, in the order in which they were received."""
        ...
