"""What a cancel stops, what it records, and when the next step follows."""

from dataclasses import replace
from typing import Any

import pytest

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import CancelStep
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.changes import SaveRun
from betcode.domain.store.rows import NO_CRASHES, InputKind, InputRow, InputState, SessionState
from betcode.domain.values.identifiers import RunKey
from betcode.engine.core.cancel import (
    CancelTarget,
    CancelTimes,
    EndAgent,
    WaitForAgent,
    already_begun,
    cancel_agent,
    cancel_compaction,
    cancel_messages,
    is_insisting,
    is_whole_turn,
    plan_step,
    target_of,
    transcript_without,
    waiting_messages,
)
from betcode.engine.core.view import RunView
from support.engine.core_values import (
    CAPABLE,
    EARLIER_RUN,
    NOW_NS,
    audited,
    brief,
    given,
    message,
    moves,
    other,
    prompt,
    run,
    session,
)

ACTIVE, IDLE = SessionState(status=SessionStatus.ACTIVE), SessionState(status=SessionStatus.IDLE)
BROKEN = replace(ACTIVE, transcript=TranscriptEnd.INTERRUPTED)
COMPACTION = other(InputKind.COMPACTION)
BEGUN = message("b", run=EARLIER_RUN, number=3)  # by an agent that is gone
WAITS = message("w")
TIMES = CancelTimes(interrupt_s=1.0, sigint_s=2.0, term_s=3.0, insist_s=0.5)
AT_WORK = run(turn_open=True)
NO_KEY = run(key=RunKey(0), turn_open=True)  # it is only being prepared


@pytest.mark.parametrize(
    ("inputs", "state", "agent", "target"),
    [
        ([COMPACTION, WAITS], ACTIVE, AT_WORK, CancelTarget.COMPACTION),
        ([replace(COMPACTION, number=1)], ACTIVE, AT_WORK, CancelTarget.AGENT),
        ([given("m")], ACTIVE, AT_WORK, CancelTarget.AGENT),
        ([given("m")], ACTIVE, run(), CancelTarget.AGENT),
        ([other(InputKind.ANSWER)], ACTIVE, run(), CancelTarget.AGENT),
        ([BEGUN], BROKEN, run(), CancelTarget.AGENT),
        ([WAITS], ACTIVE, run(), CancelTarget.MESSAGES),
        ([WAITS], ACTIVE, NO_KEY, CancelTarget.MESSAGES),
        ([given("m")], ACTIVE, run(CancelStep.LEAVING, turn_open=True), CancelTarget.MESSAGES),
        ([WAITS], ACTIVE, None, CancelTarget.MESSAGES),
        ([], IDLE, AT_WORK, CancelTarget.MESSAGES),
    ],
)
def test_what_a_cancel_stops(
    inputs: list[InputRow], state: SessionState, agent: RunView | None, target: CancelTarget
) -> None:
    assert target_of(session(*inputs, state=state), agent) is target


@pytest.mark.parametrize(
    ("agent", "waiting"),
    [
        (None, ["g", "b", "w"]),
        (AT_WORK, ["b", "w"]),
        (run(CancelStep.ENDING), ["b", "w"]),
        (run(CancelStep.LEAVING), ["g", "b", "w"]),
    ],
)
def test_messages_wait_that_no_agent_has_or_only_one_that_makes_way(agent: RunView | None, waiting: list[str]) -> None:
    about = session(given("g"), BEGUN, WAITS, other(InputKind.ANSWER))
    assert [row.input_id for row in waiting_messages(about, agent)] == waiting


def test_only_an_interrupted_turn_has_begun_already() -> None:
    assert already_begun(BROKEN, [BEGUN, WAITS]) == [BEGUN]
    assert already_begun(ACTIVE, [BEGUN, WAITS]) == []


@pytest.mark.parametrize(
    ("inputs", "state", "agent", "whole"),
    [
        ([WAITS], ACTIVE, None, True),
        ([WAITS, other(InputKind.ANSWER)], ACTIVE, None, True),
        ([WAITS, message("x")], ACTIVE, None, False),
        ([WAITS, COMPACTION], ACTIVE, None, False),
        ([WAITS], IDLE, None, False),
        ([WAITS], ACTIVE, AT_WORK, False),
        ([WAITS], ACTIVE, run(), True),
    ],
)
def test_a_message_alone_is_the_turn_that_is_to_begin(
    inputs: list[InputRow], state: SessionState, agent: RunView | None, whole: bool
) -> None:
    assert is_whole_turn(session(*inputs, state=state), agent, WAITS) is whole


NONE, INTERRUPTED, SIGNALLED, ENDING = (
    CancelStep.NONE,
    CancelStep.INTERRUPTED,
    CancelStep.SIGNALLED,
    CancelStep.ENDING,
)
DEAF = replace(CAPABLE, interrupt=False)


@pytest.mark.parametrize(
    ("before", "capabilities", "cancel_queued", "after", "sends_interrupt"),
    [
        ((NONE, False), CAPABLE, False, (INTERRUPTED, False), True),
        ((NONE, False), CAPABLE, True, (INTERRUPTED, True), True),
        ((INTERRUPTED, False), CAPABLE, False, (INTERRUPTED, False), False),
        ((INTERRUPTED, False), CAPABLE, True, (INTERRUPTED, True), True),  # wider than the first
        ((INTERRUPTED, True), CAPABLE, True, (INTERRUPTED, True), False),
        ((INTERRUPTED, True), CAPABLE, False, (INTERRUPTED, True), False),
        ((SIGNALLED, False), CAPABLE, True, (SIGNALLED, True), False),
        ((ENDING, False), CAPABLE, False, (ENDING, False), False),
        ((NONE, False), DEAF, False, (SIGNALLED, False), False),
        ((SIGNALLED, False), DEAF, True, (SIGNALLED, True), False),
        ((ENDING, False), DEAF, False, (ENDING, False), False),
    ],
)
def test_an_agent_is_interrupted_once_or_signalled_where_it_takes_no_interrupt(
    before: tuple[CancelStep, bool],
    capabilities: Any,
    cancel_queued: bool,
    after: tuple[CancelStep, bool],
    sends_interrupt: bool,
) -> None:
    agent = run(before[0], cancel_queued=before[1], turn_open=True)
    done = cancel_agent(session(given("m"), capabilities=capabilities), agent, cancel_queued=cancel_queued)
    assert done.run is not None
    assert (done.run.cancel_step, done.run.cancel_queued) == after
    assert (done.was_active, done.sends_interrupt, done.is_repeated) == (True, sends_interrupt, before[0] is not NONE)
    assert done.decision.changes == (SaveRun(done.run),)


@pytest.mark.parametrize(
    ("inputs", "state", "cancel_queued", "withdrawn"),
    [
        ([given("m"), WAITS], ACTIVE, False, ()),
        ([given("m"), WAITS], ACTIVE, True, ("w",)),
        ([BEGUN, WAITS], BROKEN, True, ("w",)),  # the turn that is continued ends with its agent
        ([BEGUN, WAITS], ACTIVE, True, ("b", "w")),
    ],
)
def test_waiting_messages_are_withdrawn_only_on_request(
    inputs: list[InputRow], state: SessionState, cancel_queued: bool, withdrawn: tuple[str, ...]
) -> None:
    done = cancel_agent(session(*inputs, state=state), AT_WORK, cancel_queued=cancel_queued)
    assert done.withdrawn == withdrawn
    assert brief(done.decision.events) == [f"message {name} CANCELLED" for name in withdrawn]
    assert moves(done.decision.changes) == dict.fromkeys(withdrawn, InputState.CANCELLED)


IDLE_AFTER = {"crashes": NO_CRASHES, "transcript": TranscriptEnd.FINISHED, "status": SessionStatus.IDLE}
ABANDONED = {**IDLE_AFTER, "transcript": TranscriptEnd.ABANDONED}


@pytest.mark.parametrize(
    ("inputs", "state", "cancel_queued", "withdrawn", "said", "fields"),
    [
        ([WAITS], ACTIVE, False, ("w",), ["turn cancelled w", "status IDLE"], IDLE_AFTER),
        (
            [WAITS, message("x")],
            ACTIVE,
            False,
            ("w",),
            ["turn cancelled w"],
            {**IDLE_AFTER, "status": SessionStatus.ACTIVE},
        ),
        ([WAITS, message("x")], ACTIVE, True, ("w", "x"), ["turn cancelled w", "status IDLE"], IDLE_AFTER),
        ([WAITS, BEGUN], BROKEN, False, ("b",), ["turn cancelled b"], {**ABANDONED, "status": SessionStatus.ACTIVE}),
        ([WAITS, BEGUN], BROKEN, True, ("w", "b"), ["turn cancelled b", "status IDLE"], ABANDONED),
        ([BEGUN], ACTIVE, False, ("b",), ["turn cancelled b", "status IDLE"], ABANDONED),
        ([WAITS], IDLE, True, ("w",), [], IDLE_AFTER),
    ],
)
def test_without_an_agent_the_first_message_is_the_turn(
    inputs: list[InputRow],
    state: SessionState,
    cancel_queued: bool,
    withdrawn: tuple[str, ...],
    said: list[str],
    fields: dict[str, object],
) -> None:
    done = cancel_messages(session(*inputs, state=state), inputs, NOW_NS, cancel_queued=cancel_queued)
    assert (done.withdrawn, done.was_active) == (withdrawn, state.status is SessionStatus.ACTIVE)
    assert brief(done.decision.events) == [*(f"message {name} CANCELLED" for name in withdrawn), *said]
    assert moves(done.decision.changes) == dict.fromkeys(withdrawn, InputState.CANCELLED)
    assert done.decision.fields == fields
    assert done.rests is (fields["status"] is SessionStatus.IDLE)


@pytest.mark.parametrize(("inputs", "state"), [([], ACTIVE), ([WAITS], IDLE), ([], IDLE)])
def test_where_no_turn_is_to_begin_nothing_is_cancelled(inputs: list[InputRow], state: SessionState) -> None:
    done = cancel_messages(session(*inputs, state=state), inputs, NOW_NS, cancel_queued=False)
    assert (done.was_active, done.dropped, done.decision.events) == (False, (), ())


def test_prompts_of_lost_agents_are_withdrawn_first_by_the_client_that_cancels() -> None:
    about = session(WAITS, orphaned={"p": prompt("p")}, stopped_by="c")
    done = cancel_messages(about, [WAITS], NOW_NS, cancel_queued=False).decision
    assert brief(done.events)[:2] == ["withdrawn p", "message w CANCELLED"]
    assert audited(done.changes) == [("p", "withdrawn", DecidedBy.PERSON)]


@pytest.mark.parametrize(
    ("inputs", "cancel_queued", "withdrawn", "rests"),
    [
        ([COMPACTION], False, (), True),
        ([COMPACTION, WAITS], False, (), False),
        ([COMPACTION, WAITS], True, ("w",), True),
        ([COMPACTION, WAITS, given("g")], True, ("w",), False),
    ],
)
def test_a_compaction_that_no_agent_has_is_cancelled_alone(
    inputs: list[InputRow], cancel_queued: bool, withdrawn: tuple[str, ...], rests: bool
) -> None:
    done = cancel_compaction(session(*inputs), AT_WORK, cancel_queued=cancel_queued)
    assert (done.was_active, done.withdrawn, done.rests) == (True, withdrawn, rests)
    ended = ["turn cancelled", "status IDLE"] if rests else ["turn cancelled"]
    assert brief(done.decision.events) == [*(f"message {name} CANCELLED" for name in withdrawn), *ended]
    assert moves(done.decision.changes) == dict.fromkeys([*withdrawn, "compaction"], InputState.CANCELLED)
    assert done.decision.fields == {"status": SessionStatus.IDLE if rests else SessionStatus.ACTIVE}


@pytest.mark.parametrize(
    ("transcript", "dropped", "after"),
    [
        (TranscriptEnd.FINISHED, [WAITS], TranscriptEnd.FINISHED),
        (TranscriptEnd.FINISHED, [BEGUN], TranscriptEnd.ABANDONED),
        (TranscriptEnd.INTERRUPTED, [WAITS], TranscriptEnd.ABANDONED),
    ],
)
def test_a_message_that_an_agent_was_given_may_be_in_the_transcript(
    transcript: TranscriptEnd, dropped: list[InputRow], after: TranscriptEnd
) -> None:
    assert transcript_without(transcript, dropped) is after


@pytest.mark.parametrize(
    ("step", "plan"),
    [
        (NONE, None),
        (INTERRUPTED, WaitForAgent(1.0, SIGNALLED)),
        (SIGNALLED, WaitForAgent(2.0, ENDING, signals=True)),
        (ENDING, EndAgent(3.0, nothing_open=False)),
        (CancelStep.LEAVING, EndAgent(3.0, nothing_open=True)),
    ],
)
def test_each_step_has_its_time_and_its_successor(step: CancelStep, plan: WaitForAgent | EndAgent | None) -> None:
    assert plan_step(step, TIMES) == plan


@pytest.mark.parametrize(("since_s", "insists"), [(0.0, False), (0.49, False), (0.5, True), (10.0, True)])
def test_a_second_cancel_right_after_a_step_is_the_same_one(since_s: float, insists: bool) -> None:
    assert is_insisting(since_s, TIMES) is insists
