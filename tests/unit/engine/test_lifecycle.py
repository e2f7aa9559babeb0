"""The lifecycle of a session beside its turns: its phase, and when that is news."""

import pytest

from betcode.domain.sessions.binding import BindingRecord, SessionBinding
from betcode.domain.sessions.phase import Phase
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import SessionState
from betcode.engine.core.state import Session
from betcode.engine.operations.lifecycle.lifecycle import Lifecycle, started_binding
from support.engine.core_values import SESSION

IDLE, CLOSED = SessionState(status=SessionStatus.IDLE), SessionState(status=SessionStatus.CLOSED)


@pytest.mark.parametrize(
    ("session", "phase"),
    [
        (Session(IDLE), Phase.RUNNING),
        (Session(IDLE, binding=SessionBinding(failure="an error")), Phase.FAILED),
        (Session(IDLE, binding=SessionBinding(stop_by_ns=1)), Phase.STOPPING),
        (Session(CLOSED, binding=SessionBinding(stop_by_ns=1)), Phase.STOPPED),
    ],
)
def test_the_phase_of_a_stored_session_is_no_news(session: Session, phase: Phase) -> None:
    lifecycle = Lifecycle()
    lifecycle.take_up(BindingRecord(session.binding, first_run_ns=1), session)
    assert lifecycle.phase(session) is phase
    assert lifecycle.told(SESSION, session, "") is None


def test_a_phase_is_told_once_with_the_error_of_the_binding() -> None:
    lifecycle = Lifecycle()
    failed = Session(CLOSED, binding=SessionBinding(failure="an error"))
    told = lifecycle.told(SESSION, failed, "")
    assert told is not None
    assert (told.after, told.words) == (Phase.FAILED, "an error")
    assert lifecycle.told(SESSION, failed, "") is None


def test_a_close_that_fails_leaves_the_session_as_it_was() -> None:
    lifecycle = Lifecycle()

    def fail() -> None:
        with lifecycle.stopping():
            assert lifecycle.is_stopping
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not lifecycle.is_changing
    with lifecycle.stopping():
        pass
    assert lifecycle.is_stopping


def test_a_start_and_a_stop_end() -> None:
    lifecycle = Lifecycle()
    lifecycle.starts()
    lifecycle.stops()
    assert lifecycle.phase(Session(IDLE)) is Phase.STOPPING
    lifecycle.stop_is_over()
    assert lifecycle.phase(Session(IDLE)) is Phase.STARTING
    lifecycle.start_is_over()
    assert not lifecycle.is_changing


@pytest.mark.parametrize(("timeout_ns", "deadline_ns"), [(0, 0), (5, 12)])
def test_the_time_of_a_session_begins_when_its_agent_is_ready(timeout_ns: int, deadline_ns: int) -> None:
    binding = started_binding(SessionBinding(timeout_ns=timeout_ns, failure="an error"), 7)
    assert binding == SessionBinding(timeout_ns=timeout_ns, started_ns=7, deadline_ns=deadline_ns)
