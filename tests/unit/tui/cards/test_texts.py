"""Ages and results of prompts as text."""

from datetime import UTC, datetime, timedelta

import pytest

from betcode.tui.cards.texts import how_it_ended, waits
from betcode.v1 import agent_pb2 as v1

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def prompt() -> v1.PendingPrompt:
    request = v1.PermissionRequest(request_id="a", tool_name="Bash")
    request.input.update({"command": "ls\n-l"})
    one = v1.PendingPrompt(request_id="a", permission=request)
    one.asked_at.FromDatetime(NOW - timedelta(minutes=3))
    return one


def test_how_long_it_waits_and_when_it_expires() -> None:
    one = prompt()
    assert waits(one, NOW) == "asked 3 min ago"
    one.expires_at.FromDatetime(NOW + timedelta(days=6, hours=2))
    assert waits(one, NOW) == "asked 3 min ago · expires in 6 d"
    assert waits(one, NOW + timedelta(days=7)).endswith("expires now")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"resolution": "answered", "decision": v1.ALLOW_ONCE, "client_id": "ada"}, "ada allowed: Bash ls -l"),
        (
            {"resolution": "answered", "decision": v1.DENY_WITH_INTERRUPT, "client_id": "ada", "message": "n\x1bo"},
            "ada denied (n␛o): Bash ls -l",
        ),
        ({"resolution": "answered", "decision": v1.ALLOW_SESSION}, "somebody allowed for the session: Bash ls -l"),
        ({"resolution": "expired"}, "expired without an answer: Bash ls -l"),
        ({"resolution": "withdrawn"}, "withdrawn by the agent: Bash ls -l"),
        (
            {"resolution": "withdrawn", "message": "The turn was cancelled"},
            "withdrawn (The turn was cancelled): Bash ls -l",
        ),
        ({"resolution": "superseded"}, "asked again: Bash ls -l"),
        ({"resolution": "resolved meanwhile"}, "resolved meanwhile: Bash ls -l"),
    ],
)
def test_the_decider_and_the_decision_are_on_one_line(told: dict[str, object], said: str) -> None:
    assert how_it_ended(prompt(), v1.PermissionResolved(request_id="a", **told)) == said  # type: ignore[arg-type]
