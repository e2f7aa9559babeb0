"""What became of a message, told from the log."""

import pytest

from betcode.server.obey.errors import ObeyError, ObeyErrorCode
from betcode.server.obey.message_outcome import MessageOutcome
from betcode.v1 import agent_pb2 as v1


def ended(reason: str, *messages: str) -> v1.AgentEvent:
    return v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason=reason, message_ids=messages))


def error(code: str, message: str) -> v1.AgentEvent:
    return v1.AgentEvent(error=v1.ErrorEvent(code=code, message=message))


def state(state: v1.MessageState.ValueType) -> v1.AgentEvent:
    return v1.AgentEvent(message_state=v1.MessageStateChange(message_id="m", state=state, reason="why"))


IDLE = v1.AgentEvent(status_change=v1.StatusChange(status=v1.IDLE))
TIMEOUT = v1.AgentEvent(notice=v1.Notice(details={"event": "SESSION_TIMEOUT"}))


@pytest.mark.behaviour("obey.send.final-completion")
def test_only_its_own_turn_ends_it() -> None:
    outcome = MessageOutcome("m")
    for event in (ended("end_turn", "another"), ended("end_turn"), state(v1.MESSAGE_STATE_CONSUMED), IDLE):
        outcome.take(event)
        assert not outcome.is_over
    outcome.take(ended("end_turn", "m"))
    assert outcome.is_over


@pytest.mark.parametrize(
    ("events", "number"),
    [
        ([error("SUBPROCESS_CRASHED", "it died"), ended("crashed")], ObeyErrorCode.PROCESS_CRASHED),
        (
            [state(v1.MESSAGE_STATE_UNKNOWN), error("SUBPROCESS_CRASHED", "x"), ended("crashed")],
            ObeyErrorCode.PROCESS_CRASHED,
        ),
        ([error("AGENT_UNAVAILABLE", "no program"), ended("crashed")], ObeyErrorCode.DELIVERY_FAILED),
        ([state(v1.MESSAGE_STATE_CANCELLED), IDLE], ObeyErrorCode.DELIVERY_FAILED),
        ([error("AGENT_ERROR", "Connection reset"), ended("error", "m")], ObeyErrorCode.CONNECTION_LOST),
        ([error("AGENT_ERROR", "stream stopped short"), ended("error", "m")], ObeyErrorCode.CONNECTION_LOST),
        ([error("AGENT_ERROR", "bad prompt"), ended("error", "m")], ObeyErrorCode.SESSION_ERROR),
        ([ended("cancelled", "m")], ObeyErrorCode.SESSION_ERROR),
        ([TIMEOUT, ended("cancelled", "m")], ObeyErrorCode.TIMEOUT_REACHED),
    ],
    ids=lambda value: value.name if isinstance(value, ObeyErrorCode) else "",
)
def test_each_way_to_fail_has_its_number(events: list[v1.AgentEvent], number: ObeyErrorCode) -> None:
    outcome = MessageOutcome("m")
    *before, last = events
    for event in before:
        outcome.take(event)
    with pytest.raises(ObeyError) as failed:
        outcome.take(last)
    assert failed.value.number is number
