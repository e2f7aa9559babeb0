"""When the model's API does not serve the agent, as the dialogue tells it."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.agents.agent_state import ApiPause, PauseKind
from betcode.domain.ports import Dialogue
from betcode.domain.values.times import LATEST_NS, rfc3339
from betcode.providers.claude.provider import ClaudeProvider
from support.recordings.claude import SESSION, WIRE, record, records_of

MS = 1_000_000
PROVIDER = ClaudeProvider(None)


def fresh() -> Dialogue:
    return PROVIDER.dialogue(SESSION, SESSION.session_id)


def retry(status: int | None, delay_ms: float = 1500.0, error: str = "some_error") -> dict[str, Any]:
    facts = {"attempt": 1, "max_retries": 10, "retry_delay_ms": delay_ms, "error_status": status, "error": error}
    return {"type": "system", "subtype": "api_retry", **facts}


def limit(status: str, resets_at: float | None = None, **more: object) -> dict[str, Any]:
    facts = {"status": status, "resetsAt": resets_at, "rateLimitType": "five_hour", **more}
    return {"type": "rate_limit_event", "rate_limit_info": facts}


def begun(message_id: str = "m") -> dict[str, Any]:
    return {"type": "stream_event", "event": {"type": "message_start", "message": {"id": message_id, "content": []}}}


RESULT = {"type": "result", "subtype": "success", "is_error": True, "num_turns": 1, "terminal_reason": "api_error"}


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (retry(429), PauseKind.LIMIT),
        (retry(529), PauseKind.OVERLOAD),
        (retry(503), PauseKind.OVERLOAD),
        (retry(None, error="overloaded"), PauseKind.OVERLOAD),
        (retry(500), PauseKind.API),
        (retry(401), PauseKind.API),
        (retry(None, error="connection_error"), PauseKind.API),
    ],
)
def test_a_try_that_failed_is_a_pause_until_the_next(frame: dict[str, Any], kind: PauseKind) -> None:
    dialogue, told = fresh(), record(frame, at_ms=100)
    dialogue.receive(told)
    assert dialogue.view.api_pause == ApiPause(kind, told.wall_ns + 1500 * MS)


def test_the_first_word_of_an_answer_ends_it() -> None:
    dialogue = fresh()
    dialogue.receive(record(retry(529)))
    dialogue.receive(record(begun()))
    assert dialogue.view.api_pause is None


def test_the_end_of_the_turn_ends_it_but_for_a_limit_that_is_not_reset_yet() -> None:
    hour_s = record(RESULT).wall_ns // 1_000_000_000 + 3600
    for frame, kept in ((retry(529), False), (retry(429, 10), False), (limit("rejected", hour_s), True)):
        dialogue = fresh()
        dialogue.receive(record(frame))
        dialogue.receive(record(RESULT, at_ms=1000))
        assert (dialogue.view.api_pause is not None) == kept
        carried = PROVIDER.carry_over(dialogue.state(), PROVIDER.dialogue_version)
        next_one = PROVIDER.dialogue(SESSION, SESSION.session_id, carried, version=PROVIDER.dialogue_version)
        assert next_one.view.api_pause == dialogue.view.api_pause


@pytest.mark.parametrize(
    "frame", [limit("allowed"), limit("allowed_warning", 1e10), limit("rejected", isUsingOverage=True)]
)
def test_what_does_not_stop_the_agent_is_no_pause(frame: dict[str, Any]) -> None:
    dialogue = fresh()
    dialogue.receive(record(frame))
    assert dialogue.view.api_pause is None


def test_a_limit_that_is_lifted_is_over() -> None:
    dialogue = fresh()
    dialogue.receive(record(limit("rejected", 1e10)))
    dialogue.receive(record(limit("allowed")))
    assert dialogue.view.api_pause is None


@given(st.one_of(st.none(), st.floats(), st.integers()), st.one_of(st.floats(), st.integers()))
def test_whatever_numbers_it_names_the_time_can_be_stored_and_shown(resets_at: float | None, delay: float) -> None:
    dialogue = fresh()
    for frame in (limit("rejected", resets_at), retry(429, delay)):
        dialogue.receive(record(frame))
        pause = dialogue.view.api_pause
        assert pause is None or 0 <= pause.until_ns <= LATEST_NS
        assert pause is None or rfc3339(pause.until_ns) or not pause.until_ns


def test_the_real_program_is_limited_until_its_api_answers_again() -> None:
    """A usage limit in the first turn, an answer in the second."""
    dialogue, seen = fresh(), []
    for each in records_of(WIRE / "x_usage_limit.ndjson"):
        dialogue.receive(each)
        seen.append(dialogue.view.api_pause)
    pauses = [pause for pause, _ in itertools.groupby(seen)]
    assert pauses == [None, ApiPause(PauseKind.LIMIT, 1794737262 * 1_000_000_000), None]
