"""Derive a session's status from what is open in it, and what it waits for from its row."""

from collections.abc import Iterable
from dataclasses import dataclass

from betcode.domain.agents.agent_state import ApiPause, PauseKind
from betcode.domain.sessions.budget_state import waits_for_person
from betcode.domain.sessions.status import SessionStatus, SessionStimulus, advance
from betcode.domain.store.rows import OPENS_TURN, InputRow, PromptRow, SessionState
from betcode.engine.core.decision import StateFields


@dataclass(frozen=True, slots=True)
class WaitReason:
    """`what`: "person", "slot", "retry" (after a crash), "limit", "overload", "api" or nothing."""

    what: str = ""
    until_ns: int = 0  # wall time; 0: not known


NOTHING = WaitReason()


def status_after(
    status: SessionStatus, inputs: Iterable[InputRow], budget_prompt: PromptRow | None, *, turn_open: bool
) -> SessionStatus:
    """The session's status once these inputs are the open ones, and a turn is open or not."""
    busy = turn_open or any(row.kind in OPENS_TURN and not waits_for_person(budget_prompt, row) for row in inputs)
    if busy and status in (SessionStatus.NEW, SessionStatus.IDLE):
        return advance(status, SessionStimulus.TURN_OPENED)
    if not busy and status is SessionStatus.ACTIVE:
        return advance(status, SessionStimulus.TURN_CLOSED)
    return status


def turn_opened(status: SessionStatus) -> SessionStatus:
    """The session's status once a turn is open or to begin."""
    return status if status is SessionStatus.ACTIVE else advance(status, SessionStimulus.TURN_OPENED)


def for_api(state: SessionState, now_ns: int) -> WaitReason:
    """A limit holds for a session at rest too, until it is reset; anything else matters only to a turn."""
    if not state.api_pause:
        return NOTHING
    is_limited = state.api_pause == PauseKind.LIMIT and now_ns < state.api_pause_until_ns
    if state.status is SessionStatus.ACTIVE or (is_limited and state.status is not SessionStatus.CLOSED):
        return WaitReason(state.api_pause, state.api_pause_until_ns)
    return NOTHING


def pause_fields(pause: ApiPause | None) -> StateFields:
    """How it is stored with a session."""
    if pause is None:
        return {"api_pause": "", "api_pause_until_ns": 0}
    return {"api_pause": pause.kind.value, "api_pause_until_ns": pause.until_ns}


def pause_after_agent(state: SessionState, now_ns: int) -> StateFields:
    """What is left of it when the agent is gone: nobody tries again, but a limit is a limit."""
    if state.api_pause == PauseKind.LIMIT and now_ns < state.api_pause_until_ns:
        return {}
    return pause_fields(None)
