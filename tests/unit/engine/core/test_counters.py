"""What a session's row counts, from literal events."""

from dataclasses import replace

from betcode.domain.store.rows import SessionState
from betcode.engine.core.counters import SessionCounters
from betcode.v1 import agent_pb2 as v1

SECOND_NS = 1_000_000_000


def status(at_s: float, value: v1.AgentStatus.ValueType) -> v1.AgentEvent:
    event = v1.AgentEvent(status_change=v1.StatusChange(status=value))
    event.timestamp.FromNanoseconds(int(at_s * SECOND_NS))
    return event


def ended(at_s: float, reason: str) -> v1.AgentEvent:
    event = v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason=reason))
    event.timestamp.FromNanoseconds(int(at_s * SECOND_NS))
    return event


def after(state: SessionState, *events: v1.AgentEvent, written_s: float = 0) -> SessionState:
    tally = SessionCounters(state)
    for event in events:
        tally.number(event)
    return tally.state(int(written_s * SECOND_NS))


def test_time_at_work_leaves_out_what_passes_until_a_person_answers() -> None:
    state = after(
        SessionState(), status(10, v1.THINKING), status(11, v1.EXECUTING_TOOL), status(12, v1.WAITING_FOR_USER)
    )
    assert state.worked_ms == 2_000
    state = after(state, status(1_000, v1.THINKING))
    state = after(state, ended(1_003, "end_turn"), status(1_003, v1.IDLE))
    assert (state.worked_ms, state.turns, state.working_since_ns) == (5_000, 1, 0)
    assert after(state, status(2_000, v1.THINKING), status(2_001, v1.IDLE)).worked_ms == 6_000


def test_a_turn_that_broke_off_counts_until_it_was_last_heard_of() -> None:
    state = after(SessionState(), status(10, v1.THINKING), written_s=14)
    crashed = after(state, status(9_000, v1.ERROR), ended(9_000, "crashed"), status(9_000, v1.IDLE))
    stopped = after(state, ended(9_000, "stopped"), status(9_000, v1.IDLE))
    assert (crashed.worked_ms, stopped.worked_ms) == (4_000, 4_000)


def test_words_that_are_taken_back_are_no_message() -> None:
    def settled(text: str, message_id: str) -> v1.AgentEvent:
        return v1.AgentEvent(text_delta=v1.TextDelta(text=text, is_complete=True, message_id=message_id))

    state = after(SessionState(), v1.AgentEvent(user_input=v1.UserInput(content="go")), settled("", "cut"))
    assert (state.message_count, state.landmarks.answer) == (1, 0)
    state = after(state, settled("said again", "whole"))
    assert (state.message_count, state.landmarks.answer) == (2, 3)


def test_a_clock_that_is_set_back_takes_no_time_away() -> None:
    state = replace(SessionState(), worked_ms=500)
    assert after(state, status(100, v1.THINKING), status(40, v1.IDLE)).worked_ms == 500
