"""Which methods processes inside agents may call: none that changes something is open by mistake."""

import pytest

from betcode.server.auth.access import TABLE, Access

# How the names of methods begin that change nothing.
READING = (
    *("Check", "Diff", "Export", "Follow", "Get", "Inspect", "List", "Negotiate", "Ping", "Read", "Resume", "Search"),
    *("Try", "Verify", "Watch"),
)
NAMED_OTHERWISE = {"betcode.v1.WorktreeService.ReportWorktrees"}  # prints sizes


@pytest.mark.parametrize("method", sorted(name for name, access in TABLE.items() if access is Access.READ))
def test_a_method_that_is_open_to_agents_reads(method: str) -> None:
    assert method.rpartition(".")[2].startswith(READING) or method in NAMED_OTHERWISE


def test_reports_are_all_that_agents_may_add() -> None:
    assert {name.rpartition(".")[2] for name, access in TABLE.items() if access is Access.REPORT} == {
        "ReportCampaignEvent",
        "ReportFestivalEvent",
        "StreamAgentActivity",
    }


def test_what_a_handler_decides_by_the_request_is_known() -> None:
    """Each of these has tests of what it refuses."""
    assert {name.rpartition(".")[2] for name, access in TABLE.items() if access is Access.BY_REQUEST} == {
        "Converse",
        "CreateWorktree",
        "WatchCreateWorktree",
    }
