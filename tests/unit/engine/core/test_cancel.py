"""What a cancel stops, what it records, and when the next step follows."""

from dataclasses import replace
from typing import Any

import pytest

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import CancelStep, RunState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.changes import AddInput, SaveRun
from betcode.domain.store.rows import NO_CRASHES, InputKind, InputRow, InputState, SessionState
from betcode.domain.values.identifiers import RunKey
from betcode.engine.core.cancel import (
    CancelTarget,
    CancelTimes,
    EndAgent,
    WaitForAgent,
    already_begun,
    cancel,
    cancel_agent,
    cancel_compaction,
    cancel_messages,
    escalate,
    is_insisting,
    is_whole_turn,
    plan_step,
    target_of,
    transcript_without,
    waiting_messages,
    withdraw_one,
)
from betcode.engine.core.decision import (
    Advance,
    Decision,
    EscalateCancel,
    FinishCompaction,
    RefuseInputs,
    ReleaseSlot,
    Settle,
    StopRetry,
)
from betcode.engine.core.state import NO_RUN
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
INTERRUPT = other(InputKind.INTERRUPT)


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
    interrupt = INTERRUPT if capabilities.interrupt else None
    done = cancel_agent(session(given("m"), capabilities=capabilities), agent, interrupt, cancel_queued=cancel_queued)
    row = replace(agent.row, cancel_step=after[0], cancel_queued=after[1])
    assert done.was_active
    assert done.decision.changes == (SaveRun(row), *([AddInput(INTERRUPT)] if sends_interrupt else []))
    ends = [RefuseInputs()] if row.cancel_step.ends_agent else []
    assert done.decision.effects == (*ends, EscalateCancel(insists=before[0] is not NONE), Advance())


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
    done = cancel_agent(session(*inputs, state=state), AT_WORK, None, cancel_queued=cancel_queued)
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
    done = cancel_messages(session(*inputs, state=state), None, inputs, NOW_NS, cancel_queued=cancel_queued)
    assert (done.withdrawn, done.was_active) == (withdrawn, state.status is SessionStatus.ACTIVE)
    assert brief(done.decision.events) == [*(f"message {name} CANCELLED" for name in withdrawn), *said]
    assert moves(done.decision.changes) == dict.fromkeys(withdrawn, InputState.CANCELLED)
    assert done.decision.fields == fields
    was_active, rests = state.status is SessionStatus.ACTIVE, fields["status"] is SessionStatus.IDLE
    effects = [*([StopRetry()] if was_active else []), *([ReleaseSlot()] if rests else []), Advance()]
    assert done.decision.effects == tuple(effects)


@pytest.mark.parametrize(("inputs", "state"), [([], ACTIVE), ([WAITS], IDLE), ([], IDLE)])
def test_where_no_turn_is_to_begin_nothing_is_cancelled(inputs: list[InputRow], state: SessionState) -> None:
    done = cancel_messages(session(*inputs, state=state), None, inputs, NOW_NS, cancel_queued=False)
    assert (done.was_active, done.dropped, done.decision) == (False, (), Decision())


def test_prompts_of_lost_agents_are_withdrawn_first_by_the_client_that_cancels() -> None:
    about = session(WAITS, orphaned={"p": prompt("p")}, stopped_by="c")
    done = cancel_messages(about, None, [WAITS], NOW_NS, cancel_queued=False).decision
    assert brief(done.events)[:2] == ["withdrawn p", "message w CANCELLED"]
    assert audited(done.changes) == [("p", "withdrawn", DecidedBy.PERSON)]


def test_an_agent_that_is_only_being_prepared_gets_nothing_of_a_cancelled_turn() -> None:
    done = cancel_messages(session(WAITS), NO_KEY, [WAITS], NOW_NS, cancel_queued=False).decision
    assert done.effects[0] == RefuseInputs()


def test_the_run_whose_turn_was_to_be_continued_is_given_up_with_the_turn() -> None:
    crashed = replace(run().row, state=RunState.BACKING_OFF)
    done = cancel_messages(session(WAITS, backing_off=crashed), None, [WAITS], NOW_NS, cancel_queued=False).decision
    assert done.changes[-1] == SaveRun(replace(crashed, state=RunState.CRASHED))


@pytest.mark.parametrize(
    ("agent", "changed"),
    [
        (None, CancelTarget.MESSAGES),
        (AT_WORK, CancelTarget.AGENT),
    ],
)
def test_one_function_decides_for_every_target(agent: RunView | None, changed: CancelTarget) -> None:
    about = session(given("m"))
    done = cancel(about, agent, INTERRUPT, NOW_NS, cancel_queued=False)
    if changed is CancelTarget.AGENT and agent is not None:
        assert done == cancel_agent(about, agent, INTERRUPT, cancel_queued=False)
    else:
        assert done == cancel_messages(about, None, [given("m")], NOW_NS, cancel_queued=False)


def test_a_message_behind_others_is_withdrawn_alone() -> None:
    done = withdraw_one(session(WAITS, message("x")), None, WAITS, NOW_NS)
    assert (brief(done.events), moves(done.changes)) == (["message w CANCELLED"], {"w": InputState.CANCELLED})
    assert done.fields == {"status": SessionStatus.ACTIVE, "transcript": TranscriptEnd.FINISHED}
    assert done.effects == (Settle(),)


def test_a_message_that_is_the_whole_turn_is_withdrawn_with_the_turn() -> None:
    done = withdraw_one(session(WAITS), None, WAITS, NOW_NS)
    assert brief(done.events) == ["message w CANCELLED", "turn cancelled w", "status IDLE"]


def test_the_question_about_the_budget_is_withdrawn_with_the_last_message_that_waits_for_it() -> None:
    about = session(WAITS, state=IDLE, budget_prompt=prompt("b", run=NO_RUN))
    done = withdraw_one(about, None, WAITS, NOW_NS)
    assert brief(done.events) == ["message w CANCELLED", "withdrawn b", "status IDLE"]
    assert brief(withdraw_one(replace(about, is_compacting=True), None, WAITS, NOW_NS).events)[-1] == "withdrawn b"


def test_an_agent_that_does_not_stop_gets_nothing_more() -> None:
    row = run(INTERRUPTED).row
    done = escalate(row, SIGNALLED)
    assert (done.changes, done.effects) == ((SaveRun(replace(row, cancel_step=SIGNALLED)),), (RefuseInputs(),))


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
    assert (done.was_active, done.withdrawn) == (True, withdrawn)
    released = [ReleaseSlot()] if rests else []
    assert done.decision.effects == (FinishCompaction("it was cancelled"), *released, Advance())
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
