"""Prompts whose agent is gone: withdrawn with the turn, or left to the next agent."""

from dataclasses import replace
from typing import Any

import pytest

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.exit_record import ExitRecord
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.rows import CarriedState, InputKind, PromptState, SessionState
from betcode.engine.core import orphaned_prompts
from betcode.engine.core.decision import StateFields
from betcode.engine.core.exit import (
    RunExit,
    orphan_prompts,
    reason_not_continued,
    withdraw_all,
)
from support.engine.core_values import (
    CAPABLE,
    FORGETFUL,
    NOW_NS,
    RUN,
    audited,
    brief,
    given,
    other,
    prompt,
    saved_prompts,
    session,
)
from support.engine.exit_facts import (
    ACTIVE,
    CLOSED,
    KILLED,
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
