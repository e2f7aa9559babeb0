"""Prompts whose agent is gone: withdrawn with the turn, or left to the next agent."""

from dataclasses import replace
from typing import Any

import pytest

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.exit_record import ExitRecord
from betcode.domain.runs.state import CancelStep, RunState
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.changes import SaveRun
from betcode.domain.store.rows import CarriedState, InputKind, PromptState, SessionState
from betcode.domain.values.identifiers import RunKey
from betcode.engine.core import events, orphaned_prompts
from betcode.engine.core.decision import (
    Advance,
    DetachRun,
    FinishCompaction,
    ForbidStart,
    ReleaseSlot,
    RetryAfter,
    StateFields,
    StopRetry,
)
from betcode.engine.core.exit import (
    RunExit,
    TurnRecords,
    classify_exit,
    continues_turn,
    on_exit,
    orphan_prompts,
    reason_not_continued,
    withdraw_all,
)
from betcode.v1 import agent_pb2 as v1
from support.engine.core_values import (
    CAPABLE,
    FORGETFUL,
    NOW_NS,
    RUN,
    audited,
    brief,
    given,
    message,
    other,
    prompt,
    run,
    saved_prompts,
    session,
)
from support.engine.exit_facts import (
    ACTIVE,
    CLOSED,
    KILLED,
    WRONG_KEY,
    facts,
)

BEGUN = {"transcript": TranscriptEnd.INTERRUPTED}
RETRIED = RunExit("n", True, True, retry_in_s=1.0)
REST = RunExit("n", False, True)


@pytest.mark.parametrize(
    ("end", "state", "capabilities", "fields", "reason"),
    [
        (RETRIED, ACTIVE, CAPABLE, {}, ""),
        (RETRIED, ACTIVE, FORGETFUL, {}, ""),
        (replace(RETRIED, lost=("m",)), ACTIVE, FORGETFUL, {}, orphaned_prompts.GIVEN_UP),
        (replace(REST, stopped=True), ACTIVE, CAPABLE, BEGUN, ""),
        (replace(REST, stopped=True), ACTIVE, FORGETFUL, BEGUN, orphaned_prompts.NOT_CONTINUED),
        (REST, replace(ACTIVE, transcript=TranscriptEnd.INTERRUPTED), CAPABLE, {}, ""),
        (REST, ACTIVE, CAPABLE, {}, orphaned_prompts.NOT_CONTINUED),
        (replace(RETRIED, retry_in_s=None), ACTIVE, CAPABLE, {}, orphaned_prompts.GIVEN_UP),
        (replace(REST, after_cancel=True), ACTIVE, CAPABLE, BEGUN, orphaned_prompts.CANCELLED),
        (REST, CLOSED, CAPABLE, BEGUN, "the session was closed"),
    ],
)
def test_why_no_agent_goes_on_with_the_turn(
    end: RunExit, state: SessionState, capabilities: Any, fields: StateFields, reason: str
) -> None:
    assert reason_not_continued(session(state=state, capabilities=capabilities), end, fields) == reason


@pytest.mark.parametrize(
    ("end", "state", "by"),
    [
        (replace(REST, after_cancel=True), ACTIVE, DecidedBy.PERSON),
        (REST, CLOSED, DecidedBy.PERSON),
        (RETRIED, ACTIVE, DecidedBy.AGENT),
    ],
)
def test_every_prompt_is_withdrawn_by_whoever_ended_the_turn(end: RunExit, state: SessionState, by: DecidedBy) -> None:
    about = session(state=state, prompts={"p1": prompt()}, orphaned={"p2": prompt("p2")}, stopped_by="c")
    done = withdraw_all(about, end, "why", NOW_NS)
    assert brief(done.said) == ["withdrawn p1", "withdrawn p2"]
    assert audited(done.changes) == [("p1", "withdrawn", by), ("p2", "withdrawn", by)]


@pytest.mark.parametrize(
    ("number", "exited", "kept"),
    [
        (0, None, CarriedState.UNSPENT),
        (0, KILLED, CarriedState.UNSPENT),
        (4, KILLED, CarriedState.UNSPENT),
        (4, None, CarriedState.SPENT),
    ],
)
def test_an_answer_is_unspent_only_where_the_agent_cannot_have_read_it(
    number: int, exited: ExitRecord | None, kept: CarriedState
) -> None:
    answered = prompt("p2", state=PromptState.ANSWERED, decision="ALLOW_ONCE")
    waiting = other(InputKind.ANSWER, run=RUN, number=number, content=b"p2")
    case = facts(given("m"), waiting, exited=exited, prompts={"p1": prompt()}, orphaned={"p0": prompt("p0")})
    done = orphan_prompts(case, [answered])
    assert brief(done.said) == ["notice"]
    assert saved_prompts(done.changes) == {"p2": replace(answered, kept=kept)}


def test_an_answer_that_the_agent_had_is_spent() -> None:
    answered = prompt("p2", state=PromptState.ANSWERED, decision="ALLOW_ONCE")
    done = orphan_prompts(facts(given("m")), [answered])
    assert (done.said, saved_prompts(done.changes)["p2"].kept) == ([], CarriedState.SPENT)


def test_the_answers_of_a_turn_are_read_only_where_it_is_continued() -> None:
    case = facts(given("m"))
    end = classify_exit(case, NOW_NS)
    assert continues_turn(case, end, NOW_NS)
    assert not continues_turn(case, replace(end, after_cancel=True), NOW_NS)


def test_a_crashed_agent_is_followed_by_another_after_a_wait() -> None:
    case = facts(given("m"), prompts={"p1": prompt()})
    end = classify_exit(case, NOW_NS)
    done = on_exit(case, end, TurnRecords(answered=[prompt("p2", state=PromptState.ANSWERED)]), NOW_NS)
    row = replace(case.run.row, state=RunState.BACKING_OFF, ended_ns=NOW_NS, exit_note=end.note)
    assert brief(done.events)[0] == "notice"
    assert done.changes[-1] == SaveRun(row)
    assert saved_prompts(done.changes)["p2"].kept is CarriedState.SPENT
    assert end.retry_in_s is not None
    next_one = RetryAfter(row, end.retry_in_s)
    assert done.effects == (FinishCompaction(end.note), DetachRun(), ReleaseSlot(), next_one, Advance())


def test_after_a_crash_that_is_given_up_no_agent_starts_by_itself() -> None:
    earlier = replace(run().row, state=RunState.BACKING_OFF)
    case = facts(given("m"), failure=WRONG_KEY, backing_off=earlier)
    done = on_exit(case, classify_exit(case, NOW_NS), TurnRecords(), NOW_NS)
    assert done.effects[2:] == (ReleaseSlot(), StopRetry(), ForbidStart(), Advance())
    assert done.changes[-1] == SaveRun(replace(earlier, state=RunState.CRASHED))
    assert done.fields["api_pause"] == ""


def test_what_a_cancelled_agent_was_saying_is_ended_first() -> None:
    case = facts(given("m"), agent=run(CancelStep.ENDING, turn_open=True, answering=("m",)))
    end = classify_exit(case, NOW_NS)
    done = on_exit(case, end, TurnRecords(cut_off=[events.status(v1.IDLE)]), NOW_NS)
    assert brief(done.events)[0] == "status IDLE"
    assert done.effects == (FinishCompaction("it was cancelled"), DetachRun(), ReleaseSlot(), Advance())


def test_a_run_that_has_no_row_yet_is_not_stored() -> None:
    case = facts(message("m"), agent=run(key=RunKey(0), asked_to_end=True))
    done = on_exit(case, classify_exit(case, NOW_NS), TurnRecords(), NOW_NS)
    assert not [change for change in done.changes if isinstance(change, SaveRun)]
