"""Detecting the end of the turn of one message, and its result."""

import pytest

from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.run.turn_watch import TurnWatch
from betcode.v1 import agent_pb2 as v1

OURS, OTHER = "ours", "other"


def state(state: v1.MessageState.ValueType, message_id: str = OURS) -> v1.AgentEvent:
    return v1.AgentEvent(message_state=v1.MessageStateChange(message_id=message_id, state=state))


def ended(*message_ids: str, stop_reason: str = "end_turn", origin: str = "") -> v1.AgentEvent:
    return v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason=stop_reason, message_ids=message_ids, origin=origin))


def error(code: str) -> v1.AgentEvent:
    return v1.AgentEvent(error=v1.ErrorEvent(code=code, message="it failed"))


def idle() -> v1.AgentEvent:
    return v1.AgentEvent(status_change=v1.StatusChange(status=v1.IDLE))


def see(watch: TurnWatch, *events: v1.AgentEvent) -> list[bool]:
    return [watch.see(event) for event in events]


@pytest.mark.behaviour("exit-code.0", "converse.turn.messages-merge")
def test_the_turn_that_names_our_message_is_ours_even_with_others_in_it() -> None:
    watch = TurnWatch(OURS)
    assert see(watch, ended(OTHER), ended(OTHER, OURS)) == [False, True]
    assert watch.exit_code is ExitCode.OK


def test_a_cancelled_turn_differs_from_a_withdrawn_message() -> None:
    turn, message = TurnWatch(OURS), TurnWatch(OURS)
    see(turn, state(v1.MESSAGE_STATE_DELIVERED), ended(OURS, stop_reason="cancelled"))
    see(message, state(v1.MESSAGE_STATE_CANCELLED), idle())
    assert (turn.was_cancelled, message.was_cancelled) == (True, False)
    assert (turn.exit_code, message.exit_code) == (ExitCode.AGENT_ERROR, ExitCode.AGENT_ERROR)


def test_a_turn_that_the_agent_began_by_itself_is_not_ours() -> None:
    watch = TurnWatch(OURS)
    assert see(watch, state(v1.MESSAGE_STATE_DELIVERED), ended(origin="background"), ended(OURS)) == [
        False,
        False,
        True,
    ]


@pytest.mark.behaviour("exit-code.1")
def test_a_turn_that_ends_with_an_error_is_an_agent_error() -> None:
    watch = TurnWatch(OURS)
    assert see(watch, error("API_ERROR"), ended(OURS, stop_reason="error"))[-1]
    assert watch.failed
    assert watch.exit_code is ExitCode.AGENT_ERROR


@pytest.mark.behaviour("exit-code.1")
def test_a_crash_ends_the_turn_although_it_names_no_message() -> None:
    watch = TurnWatch(OURS)
    assert see(watch, error("SUBPROCESS_CRASHED"), ended(stop_reason="crashed"))[-1]
    assert watch.exit_code is ExitCode.AGENT_ERROR


def test_an_error_of_another_turn_is_not_ours() -> None:
    watch = TurnWatch(OURS)
    see(watch, error("API_ERROR"), ended(OTHER, stop_reason="error"), ended(OURS))
    assert watch.error is None
    assert watch.exit_code is ExitCode.OK


def test_a_cancelled_message_is_over_when_the_session_rests() -> None:
    watch = TurnWatch(OURS)
    assert see(watch, state(v1.MESSAGE_STATE_CANCELLED), idle()) == [False, True]
    assert watch.exit_code is ExitCode.AGENT_ERROR


def test_a_rate_limit_has_a_code_of_its_own() -> None:
    watch = TurnWatch(OURS)
    see(watch, error("RATE_LIMITED"), ended(OURS, stop_reason="error"))
    assert watch.exit_code is ExitCode.RATE_LIMITED


def test_usage_of_the_turn_adds_up() -> None:
    watch = TurnWatch(OURS)
    for _ in range(2):
        watch.see(v1.AgentEvent(usage=v1.UsageReport(input_tokens=3, output_tokens=4, cost_usd=0.5)))
    assert (watch.usage.input_tokens, watch.usage.output_tokens, watch.usage.cost_usd) == (6, 8, 1.0)


def test_a_crash_after_which_another_agent_went_on_is_no_error_of_the_turn() -> None:
    watch = TurnWatch(OURS)
    see(watch, error("SUBPROCESS_CRASHED"), ended(OURS))
    assert (watch.error, watch.exit_code) == (None, ExitCode.OK)


def test_a_crash_that_was_the_last_is_its_error() -> None:
    watch = TurnWatch(OURS)
    last = error("SUBPROCESS_CRASHED")
    last.error.is_fatal = True
    see(watch, last, ended(stop_reason="crashed"))
    assert watch.error == last.error
    assert watch.exit_code is ExitCode.AGENT_ERROR
