"""When a compaction begins, what its events report, and what its callers get."""

from dataclasses import replace
from typing import Any

import pytest

from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import BetcodeError, InvalidRequest, SessionActive
from betcode.domain.sessions.budget import Amounts, OnReached, set_to
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import AddInput
from betcode.domain.store.rows import InputKind, InputRow, Landmarks, SessionState
from betcode.engine.core import compaction, events
from betcode.engine.core.compaction import CompactionProgress, CompactionResult, MemoryPressure
from betcode.engine.core.view import SessionView
from betcode.v1 import agent_pb2 as v1
from support.engine.core_values import CAPABLE, SESSION, brief, given, message, other, session

UUID = "0199d2a0-0002-7000-8000-000000000002"
REQUEST = other(InputKind.COMPACTION, "c")
TALKED = SessionState(status=SessionStatus.IDLE, conversation_began=True, message_count=4)
ACTIVE, CLOSED = (replace(TALKED, status=each) for each in (SessionStatus.ACTIVE, SessionStatus.CLOSED))
COMPACTED = replace(TALKED, message_count=7, landmarks=Landmarks(compacted=6, compacted_at=7))
SPENT = replace(TALKED, turns=1, budget=set_to(Amounts(turns=1), OnReached.ASK))
CANNOT = replace(CAPABLE, compaction=False)

# ---------------------------------------------------------------- a request


@pytest.mark.parametrize(
    ("view", "request_id", "code"),
    [
        (session(state=CLOSED), "", ErrorCode.SESSION_CLOSED),
        (session(state=CLOSED, capabilities=CANNOT), "no uuid", ErrorCode.SESSION_CLOSED),
        (session(state=TALKED, capabilities=CANNOT), "no uuid", ErrorCode.FEATURE_NOT_AVAILABLE),
        (session(state=TALKED), "no uuid", ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_request_is_refused(view: SessionView, request_id: str, code: ErrorCode) -> None:
    with pytest.raises(BetcodeError) as refused:
        compaction.check_request(view, request_id)
    assert refused.value.code == code


@pytest.mark.parametrize(("request_id", "spelled"), [("", ""), (UUID, UUID), (UUID.upper(), UUID)])
def test_the_id_of_a_request_has_one_spelling(request_id: str, spelled: str) -> None:
    assert compaction.check_request(session(state=ACTIVE), request_id) == spelled


def test_an_id_that_a_message_has_is_refused() -> None:
    compaction.refuse_other_input(REQUEST)
    with pytest.raises(InvalidRequest, match="used for a message") as refused:
        compaction.refuse_other_input(message("m"))
    assert refused.value.details == {"idempotency_key": "m"}


@pytest.mark.parametrize(
    ("inputs", "state"),
    [([], ACTIVE), ([given("g")], ACTIVE), ([message("waits")], TALKED), ([message("waits")], COMPACTED)],
)
def test_a_session_at_work_is_refused(inputs: list[InputRow], state: SessionState) -> None:
    with pytest.raises(SessionActive):
        compaction.refuse_or_skip(session(*inputs, state=state))


@pytest.mark.parametrize(
    ("state", "result"),
    [
        (SessionState(), CompactionResult(0, 0, 0)),
        (COMPACTED, CompactionResult(1, 1, 0)),
        (replace(COMPACTED, message_count=8), None),
        (TALKED, None),
        (replace(TALKED, conversation_began=False), CompactionResult(4, 4, 0)),
    ],
)
def test_nothing_to_compact_is_no_failure(state: SessionState, result: CompactionResult | None) -> None:
    view = session(other(InputKind.CONTROL), other(InputKind.ANSWER), state=state)
    assert compaction.refuse_or_skip(view) == result


@pytest.mark.parametrize("status", [SessionStatus.NEW, SessionStatus.IDLE])
def test_a_request_makes_the_session_active(status: SessionStatus) -> None:
    done = compaction.on_request(session(state=replace(TALKED, status=status)), REQUEST, "too large")
    assert brief(done.events) == ["status COMPACTING"]
    assert done.events[0].status_change.message == "too large"
    assert (done.changes, done.fields) == ((AddInput(REQUEST),), {"status": SessionStatus.ACTIVE})


# ---------------------------------------------------------------- progress and result


def _boundary(**more: Any) -> v1.AgentEvent:
    return v1.AgentEvent(
        compaction=v1.CompactionBoundary(messages_before=4, messages_after=1, tokens_saved=860, **more)
    )


BOUNDARY, CLEARED = _boundary(), _boundary(new_conversation_id="next")
FAILED = events.error(ErrorCode.COMPACTION_FAILED, "it failed", reason="tired")
OTHER_ERROR = events.error(ErrorCode.INTERNAL, "it crashed", reason="tired")
ENDED, CANCELLED = events.turn_complete("end_turn"), events.turn_complete("cancelled")
DONE = BOUNDARY.compaction


@pytest.mark.parametrize(
    ("said", "progress"),
    [
        ([], CompactionProgress()),
        ([events.status(v1.COMPACTING)], CompactionProgress()),
        ([BOUNDARY], CompactionProgress(DONE)),
        ([BOUNDARY, ENDED], CompactionProgress(DONE, turn_over=True)),
        ([CLEARED, ENDED], CompactionProgress(turn_over=True)),
        ([FAILED, ENDED], CompactionProgress(reason="tired", turn_over=True)),
        ([OTHER_ERROR], CompactionProgress()),
        ([CANCELLED], CompactionProgress(reason="it was cancelled", turn_over=True)),
        ([FAILED, CANCELLED], CompactionProgress(reason="it was cancelled", turn_over=True)),
        ([ENDED, BOUNDARY, FAILED], CompactionProgress(turn_over=True)),
    ],
)
def test_the_events_of_its_turn_report_a_compaction(said: list[v1.AgentEvent], progress: CompactionProgress) -> None:
    assert compaction.progress_after(CompactionProgress(), said) == progress


def test_progress_is_added_up_over_batches() -> None:
    begun = compaction.progress_after(CompactionProgress(), [BOUNDARY])
    assert compaction.progress_after(begun, [ENDED]) == CompactionProgress(DONE, turn_over=True)


@pytest.mark.parametrize(
    ("state", "progress", "code", "reason"),
    [
        (TALKED, CompactionProgress(reason="tired"), ErrorCode.COMPACTION_FAILED, "tired"),
        (TALKED, CompactionProgress(), ErrorCode.COMPACTION_FAILED, "the agent gave no reason"),
        (CLOSED, CompactionProgress(reason="tired"), ErrorCode.SESSION_CLOSED, None),
    ],
)
def test_without_a_boundary_a_compaction_has_failed(
    state: SessionState, progress: CompactionProgress, code: ErrorCode, reason: str | None
) -> None:
    with pytest.raises(BetcodeError) as failed:
        compaction.result_of(session(state=state), progress)
    assert (failed.value.code, failed.value.details.get("reason")) == (code, reason)
    assert failed.value.details["session_id"] == SESSION


@pytest.mark.parametrize("state", [TALKED, CLOSED])
def test_with_a_boundary_the_result_has_its_figures(state: SessionState) -> None:
    done = compaction.result_of(session(state=state), CompactionProgress(DONE, "it was cancelled"))
    assert done == CompactionResult(4, 1, 860)


# ---------------------------------------------------------------- automatic compaction


@pytest.mark.behaviour("compaction.trigger.auto")
@pytest.mark.parametrize(
    ("state", "tokens", "threshold", "is_allowed", "begins"),
    [
        (TALKED, 501, 500, True, True),
        (TALKED, 500, 500, True, False),
        (TALKED, 5_000_000, 0, True, False),
        (TALKED, 501, 500, False, False),
        (ACTIVE, 501, 500, True, False),
        (SPENT, 501, 500, True, False),
        (COMPACTED, 501, 500, True, False),
    ],
)
def test_a_context_past_the_threshold_is_compacted_after_its_turn(
    state: SessionState, tokens: int, threshold: int, is_allowed: bool, begins: bool
) -> None:
    view = session(state=replace(state, context_tokens=tokens))
    why = compaction.reason_after_turn(view, threshold, is_allowed=is_allowed)
    assert why == ("The context has 501 tokens, more than sessions.auto_compact_threshold" if begins else "")


@pytest.mark.parametrize(
    ("state", "capabilities", "is_allowed", "may"),
    [
        (TALKED, CAPABLE, True, True),
        (TALKED, CAPABLE, False, False),
        (TALKED, CANNOT, True, False),
        (SPENT, CAPABLE, True, False),
        (replace(SPENT, turns=0), CAPABLE, True, True),
        (COMPACTED, CAPABLE, True, False),
        (SessionState(), CAPABLE, True, False),
    ],
)
def test_the_daemon_compacts_only_what_it_may(
    state: SessionState, capabilities: Any, is_allowed: bool, may: bool
) -> None:
    assert compaction.may_begin(session(state=state, capabilities=capabilities), is_allowed=is_allowed) is may


ANSWERED = MemoryPressure(is_short=True, is_answered=True)


@pytest.mark.behaviour("compaction.trigger.memory")
@pytest.mark.parametrize(
    ("before", "used", "due"),
    [
        (MemoryPressure(), [0, 799, 800, 801, 2000], [False, False, False, True, True]),
        (ANSWERED, [900, 790, 900, 700, 900], [False] * 5),
        (ANSWERED, [699, 801], [False, True]),
        (ANSWERED, [699, 750, 801], [False, False, True]),
    ],
)
def test_memory_above_eighty_percent_is_answered_once_until_it_falls_below_seventy(
    before: MemoryPressure, used: list[int], due: list[bool]
) -> None:
    seen = []
    for used_bytes in used:
        before = compaction.pressure_after(before, used_bytes, 1000)
        seen.append(before.is_due)
    assert seen == due


@pytest.mark.behaviour("compaction.trigger.memory")
@pytest.mark.parametrize(
    ("idle_since", "chosen"),
    [({}, None), ({"a": 3.0, "b": 1.0, "c": 2.0}, "b"), ({"a": 1.0, "b": 1.0}, "a")],
)
def test_the_longest_idle_session_is_compacted(idle_since: dict[str, float], chosen: str | None) -> None:
    assert compaction.longest_idle(idle_since) == chosen


def test_the_reason_names_the_limit_of_memory() -> None:
    mib = 1024 * 1024
    assert compaction.memory_reason(9 * mib + 5, 10 * mib) == ("The daemon uses 9 of the 10 MiB of daemon.memory_limit")
