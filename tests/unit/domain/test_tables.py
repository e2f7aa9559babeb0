"""The state tables of sessions and runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.runs import state as run
from betcode.domain.runs.state import RunState, RunStimulus
from betcode.domain.sessions import status as session
from betcode.domain.sessions.status import SessionStatus, SessionStimulus


@pytest.mark.behaviour("session.states", "session.active", "session.idle")
def test_a_session_goes_from_new_to_active_to_idle_and_back_until_it_is_closed() -> None:
    status = SessionStatus.NEW
    seen = [status]
    for stimulus in (
        SessionStimulus.TURN_OPENED,
        SessionStimulus.TURN_CLOSED,
        SessionStimulus.TURN_OPENED,
        SessionStimulus.TURN_CLOSED,
        SessionStimulus.CLOSED,
    ):
        status = session.advance(status, stimulus)
        seen.append(status)
    assert seen == ["new", "active", "idle", "active", "idle", "closed"]


@given(st.lists(st.sampled_from(list(SessionStimulus)), max_size=12))
def test_nothing_leads_out_of_closed_and_nothing_back_to_new(stimuli: list[SessionStimulus]) -> None:
    status = SessionStatus.NEW
    for stimulus in stimuli:
        try:
            after = session.advance(status, stimulus)
        except session.IllegalSessionTransition:
            continue
        assert after is not SessionStatus.NEW
        assert status is not SessionStatus.CLOSED
        status = after


@pytest.mark.behaviour("lifecycle.run.states")
def test_a_run_is_spawned_runs_and_ends() -> None:
    state = run.advance(RunState.SPAWNING, RunStimulus.AGENT_READY)
    assert state is RunState.RUNNING
    assert run.advance(state, RunStimulus.AGENT_EXITED) is RunState.EXITED


@pytest.mark.parametrize("alive", sorted(run.LIVE))
@pytest.mark.parametrize("end", [RunStimulus.RETRY_DUE, RunStimulus.GIVEN_UP])
def test_a_run_that_crashed_backs_off_until_another_takes_over_or_none_will(alive: RunState, end: RunStimulus) -> None:
    state = run.advance(alive, RunStimulus.AGENT_CRASHED)
    assert state is RunState.BACKING_OFF
    assert run.advance(state, end) is RunState.CRASHED


@given(st.lists(st.sampled_from(list(RunStimulus)), max_size=12))
def test_only_a_live_run_can_become_ready_or_end(stimuli: list[RunStimulus]) -> None:
    state = RunState.SPAWNING
    for stimulus in stimuli:
        try:
            after = run.advance(state, stimulus)
        except run.IllegalRunTransition:
            continue
        if stimulus in (RunStimulus.AGENT_READY, RunStimulus.AGENT_EXITED, RunStimulus.AGENT_CRASHED):
            assert state in run.LIVE
        state = after


def test_every_state_that_is_not_an_end_has_a_way_out() -> None:
    leavable = {state for state, _ in run.NEXT}
    assert set(RunState) - leavable == {RunState.EXITED, RunState.CRASHED}
