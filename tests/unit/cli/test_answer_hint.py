"""The hint after an answer."""

from betcode.cli.permission.answer_hint import answer_hint
from betcode.v1 import agent_pb2 as v1

WAITS = v1.PendingPrompt(
    session_id="01a1ddff-31fb-7000-8000-000000000000", permission=v1.PermissionRequest(tool_name="Bash")
)
LEFT = v1.PendingPrompt(session_id=WAITS.session_id, permission=WAITS.permission, agent_is_gone=True)


def test_a_session_whose_agent_waits_continues() -> None:
    assert answer_hint(WAITS, v1.DENY, "") == "The session continues; watch it with: betcode attach 01a1ddff-31fb"


def test_a_stopped_turn_does_not_continue() -> None:
    assert answer_hint(WAITS, v1.DENY_WITH_INTERRUPT, "") == "To continue, send a message: betcode attach 01a1ddff-31fb"


def test_without_an_agent_a_message_is_needed_and_a_command_is_asked_again() -> None:
    said = answer_hint(LEFT, v1.ALLOW_ONCE, "exited")
    assert "To continue, send a message: betcode attach 01a1ddff-31fb" in said
    assert said.endswith("A command is then asked about again, with this answer as the suggestion")
    assert "asked about again" not in answer_hint(LEFT, v1.DENY, "exited")


def test_an_agent_that_is_started_again_needs_no_message() -> None:
    assert "send a message" not in answer_hint(LEFT, v1.ALLOW_ONCE, "backing_off")
