"""The menu of a session."""

import pytest

from betcode.tui.sessions.menu import offered
from betcode.v1 import agent_pb2 as v1


def keys(status: str, can: v1.ProviderCapabilities | None) -> set[str]:
    return {entry.key for entry in offered(v1.SessionSummary(id="1", status=status), can)}


@pytest.mark.parametrize(
    ("can", "missing"),
    [
        (None, set()),
        (v1.ProviderCapabilities(fork=True, compaction=True), set()),
        (v1.ProviderCapabilities(fork=True), {"k"}),
        (v1.ProviderCapabilities(), {"f", "h", "k"}),
    ],
)
def test_unsupported_actions_are_not_offered(can: v1.ProviderCapabilities | None, missing: set[str]) -> None:
    assert {"f", "h", "k", "r"} - keys("idle", can) == missing
    assert not {"k", "c"} & keys("closed", can)
