"""Activities that agents outside this daemon report, and the port to the store that holds them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from betcode.domain.obey.campaign_events import CampaignEvents

ACTIVITY_EVENTS = frozenset({"AGENT_THINKING", "AGENT_TOOL_CALL", "AGENT_TOOL_RESULT", "AGENT_COMPLETION"})


@dataclass(frozen=True, slots=True)
class PushedActivity:
    """One report, stored unchanged; the session may be ours or of another program."""

    session_id: str
    event_type: str
    content: str
    tool_name: str
    tool_call_id: str
    tool_arguments: bytes
    tool_output: str
    tool_success: bool
    at_ns: int
    received_ns: int


class ReportStore(CampaignEvents, Protocol):
    """Reports of other programs, until they expire."""

    async def keep_activities(self, activities: Sequence[PushedActivity]) -> int:
        """Keep them, in order; the number of the last.

        Raises:
            StorageDegraded, StorageFailed
        """
        ...

    async def newest_activity(self) -> int:
        """The number of the newest; 0 where there is none."""
        ...

    async def activities_after(self, number: int, limit: int) -> Sequence[tuple[int, PushedActivity]]:
        """Return those after that number, each with its own."""
        ...

    async def forget_reports(self, events_before_ns: int, activities_before_ns: int) -> int:
        """Delete reports received before; return their number."""
        ...
