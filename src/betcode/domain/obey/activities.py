"""Activities that agents outside this daemon report, and the port to the store that holds them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from betcode.domain.obey.campaign_events import CampaignEvents

ACTIVITY_EVENTS = frozenset({"AGENT_THINKING", "AGENT_TOOL_CALL", "AGENT_TOOL_RESULT", "AGENT_COMPLETION"})


@dataclass(frozen=True, slots=True)
class PushedActivity:
    """One report, kept as it came; the session may be one of ours or of another program."""

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
    """What other programs report, for as long as it is kept."""

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
        """Those behind that number, each with its own."""
        ...

    async def forget_reports(self, events_before_ns: int, activities_before_ns: int) -> int:
        """Let go of what was received before; how many that were."""
        ...
