"""The phases of a session, as a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.sessions.phase import Phase, PhaseFacts, phase_of
from betcode.domain.sessions.status import SessionStatus

NEW, ACTIVE, IDLE, CLOSED = SessionStatus


@pytest.mark.behaviour("obey.status.flow", "obey.status.running", "obey.status.terminal")
@pytest.mark.parametrize(
    ("facts", "phase"),
    [
        (PhaseFacts(NEW), Phase.CREATED),
        (PhaseFacts(NEW, is_starting=True), Phase.STARTING),
        (PhaseFacts(NEW, was_started=True, is_starting=True), Phase.STARTING),
        (PhaseFacts(NEW, was_started=True), Phase.RUNNING),
        (PhaseFacts(IDLE), Phase.RUNNING),
        (PhaseFacts(IDLE, was_started=True), Phase.RUNNING),
        (PhaseFacts(ACTIVE), Phase.WORKING),
        (PhaseFacts(ACTIVE, was_started=True), Phase.WORKING),
        (PhaseFacts(IDLE, was_started=True, is_starting=True), Phase.STARTING),
        (PhaseFacts(ACTIVE, was_started=True, is_stopping=True), Phase.STOPPING),
        (PhaseFacts(CLOSED, was_started=True, is_stopping=True), Phase.STOPPING),
        (PhaseFacts(CLOSED, was_started=True), Phase.STOPPED),
        (PhaseFacts(CLOSED), Phase.STOPPED),
        (PhaseFacts(CLOSED, has_failed=True), Phase.FAILED),
        (PhaseFacts(IDLE, was_started=True, has_failed=True), Phase.FAILED),
        (PhaseFacts(IDLE, was_started=True, is_starting=True, has_failed=True), Phase.STARTING),
        (PhaseFacts(ACTIVE, was_started=True, has_failed=True), Phase.WORKING),
        (PhaseFacts(CLOSED, is_stopping=True, has_failed=True), Phase.STOPPING),
    ],
    ids=str,
)
def test_a_phase_is_told_from_what_is_known(facts: PhaseFacts, phase: Phase) -> None:
    assert phase_of(facts) is phase


@given(st.builds(PhaseFacts, st.sampled_from(SessionStatus), *[st.booleans()] * 4))
def test_only_a_closed_or_failed_session_is_at_its_end(facts: PhaseFacts) -> None:
    if phase_of(facts).is_terminal:
        assert facts.status is CLOSED or (facts.has_failed and facts.status is not ACTIVE)
        assert not facts.is_stopping
