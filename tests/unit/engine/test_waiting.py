"""What a session waits for, from its row."""

import pytest

from betcode.domain.agents.agent_state import ApiPause, PauseKind
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import SessionState
from betcode.engine.core.status import NOTHING, WaitReason, for_api, pause_after_agent, pause_fields

NOW, LATER = 1000, 2000


def state(status: SessionStatus, pause: ApiPause | None) -> SessionState:
    kind, until_ns = (pause.kind.value, pause.until_ns) if pause else ("", 0)
    return SessionState(status=status, api_pause=kind, api_pause_until_ns=until_ns)


@pytest.mark.parametrize("kind", list(PauseKind))
def test_a_turn_waits_until_it_is_answered_even_past_the_time_of_the_next_try(kind: PauseKind) -> None:
    for until_ns in (0, NOW - 1, LATER):
        paused = state(SessionStatus.ACTIVE, ApiPause(kind, until_ns))
        assert for_api(paused, NOW) == WaitReason(kind.value, until_ns)


@pytest.mark.parametrize("status", [SessionStatus.IDLE, SessionStatus.NEW])
def test_at_rest_only_a_limit_that_is_not_reset_yet_matters(status: SessionStatus) -> None:
    assert for_api(state(status, ApiPause(PauseKind.LIMIT, LATER)), NOW) == WaitReason("limit", LATER)
    for pause in (None, ApiPause(PauseKind.LIMIT, NOW), ApiPause(PauseKind.LIMIT), ApiPause(PauseKind.OVERLOAD, LATER)):
        assert for_api(state(status, pause), NOW) == NOTHING


def test_a_closed_session_waits_for_nothing() -> None:
    assert for_api(state(SessionStatus.CLOSED, ApiPause(PauseKind.LIMIT, LATER)), NOW) == NOTHING


def test_with_its_agent_gone_a_session_keeps_a_limit_and_nothing_else() -> None:
    limited = state(SessionStatus.IDLE, ApiPause(PauseKind.LIMIT, LATER))
    assert pause_after_agent(limited, NOW) == {}
    assert pause_after_agent(limited, LATER) == pause_fields(None)
    assert pause_after_agent(state(SessionStatus.IDLE, ApiPause(PauseKind.API, LATER)), NOW) == pause_fields(None)
