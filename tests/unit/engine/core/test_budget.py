"""When a limit of the budget is reached: whom it asks, what it cancels, and how the question ends."""

import json
from dataclasses import replace
from typing import Any

import pytest

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.errors import InvalidRequest
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import CancelStep
from betcode.domain.sessions.budget import NO_BUDGET, Amounts, Budget, OnReached, set_to
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import InputKind, InputRow, InputState, PromptRow, PromptState, SessionState
from betcode.domain.values.identifiers import Seq
from betcode.engine.client_name import ClientName
from betcode.engine.core import budget
from betcode.engine.core.budget import LimitFacts
from betcode.engine.core.decision import Decision
from betcode.engine.core.prompt_decision import PromptDecision
from betcode.engine.core.state import NO_RUN
from betcode.engine.core.view import RunView
from betcode.rules import Action, Layer, Rule, Source
from betcode.v1 import agent_pb2 as v1
from support.engine.core_values import (
    CAPABLE,
    EARLIER_RUN,
    KEY,
    NOW_NS,
    SESSION,
    audited,
    brief,
    given,
    message,
    moves,
    other,
    prompt,
    run,
    saved_prompts,
    session,
)

ASK, REFUSE = (set_to(Amounts(turns=5), on_reached) for on_reached in (OnReached.ASK, OnReached.REFUSE))
IDLE, ACTIVE, CLOSED = SessionStatus.IDLE, SessionStatus.ACTIVE, SessionStatus.CLOSED
A, B = message("a"), message("b")
BEGUN = message("begun", run=EARLIER_RUN, number=3)  # by an agent that is gone
QUESTION = prompt("q", run=NO_RUN, tool_name="Budget")
ANN = ClientName("ann", "tui")


def spent(limits: Budget = ASK, turns: int = 5, *, told: bool = False, status: SessionStatus = ACTIVE) -> SessionState:
    return SessionState(status=status, turns=turns, budget=replace(limits, told=told), last_seq=Seq(40))


# ---------------------------------------------------------------- when something is due


@pytest.mark.parametrize(
    ("state", "inputs", "question", "due"),
    [
        (SessionState(turns=5), [A], None, False),
        (spent(turns=4), [A], None, False),
        (spent(), [], None, True),
        (spent(), [A], None, True),
        (spent(told=True), [], None, False),
        (spent(told=True), [A], None, True),
        (spent(told=True), [BEGUN], None, False),
        (spent(told=True), [given("g")], None, False),
        (spent(told=True), [other(InputKind.COMPACTION)], None, False),
        (spent(told=True), [A], QUESTION, False),
        (spent(), [A], QUESTION, True),
        (spent(REFUSE, told=True), [A], None, True),
        (spent(REFUSE, told=True), [A], QUESTION, True),
        (spent(REFUSE, told=True), [], QUESTION, False),
        (spent(status=CLOSED), [A], None, False),
    ],
)
def test_a_reached_limit_is_due_until_followers_and_senders_know(
    state: SessionState, inputs: list[InputRow], question: PromptRow | None, due: bool
) -> None:
    assert budget.is_due(session(*inputs, state=state, budget_prompt=question)) is due


@pytest.mark.parametrize(
    ("limits", "used", "due"),
    [
        (Amounts(cost_usd=0.3), {"cost_usd": 0.1 + 0.2}, True),
        (Amounts(cost_usd=0.3), {"cost_usd": 0.29}, False),
        (Amounts(tokens=200), {"input_tokens": 150, "output_tokens": 50}, True),
        (Amounts(tokens=200), {"input_tokens": 150, "output_tokens": 49}, False),
        (Amounts(turns=2), {"turns": 2}, True),
        (Amounts(duration_ms=1), {"worked_ms": 1}, True),
        (Amounts(duration_ms=2), {"worked_ms": 1}, False),
        (Amounts(cost_usd=0.6, turns=9), {"cost_usd": 0.75, "turns": 3}, True),
    ],
)
def test_each_limit_counts(limits: Amounts, used: dict[str, Any], due: bool) -> None:
    state = SessionState(budget=set_to(limits, OnReached.ASK), **used)
    assert budget.is_due(session(A, state=state)) is due


# ---------------------------------------------------------------- what a reached limit comes to

ASKED = ["permission_request", "message a ACCEPTED"]
BUSY, LEAVING = run(turn_open=True), run(CancelStep.LEAVING, turn_open=True)


def reached(
    *inputs: InputRow, state: SessionState, agent: RunView | None = None, is_compacting: bool = False, **more: Any
) -> Decision:
    facts = LimitFacts(KEY, "new", NOW_NS, is_compacting=is_compacting)
    return budget.on_reached(session(*inputs, state=state, **more), agent, facts)


@pytest.mark.parametrize(
    ("inputs", "state", "question", "agent", "said", "after"),
    [
        ([], spent(status=IDLE), None, None, ["notice"], IDLE),
        ([A], spent(), None, None, ["notice", *ASKED, "status WAITING_FOR_USER"], IDLE),
        ([A], spent(), None, run(), ["notice", *ASKED, "status WAITING_FOR_USER"], IDLE),
        ([A], spent(told=True), None, None, [*ASKED, "status WAITING_FOR_USER"], IDLE),
        ([A], spent(told=True), None, BUSY, ASKED, ACTIVE),
        ([A], spent(told=True), None, LEAVING, ASKED, IDLE),
        ([BEGUN, A], spent(told=True), None, None, [*ASKED, "status WAITING_FOR_USER"], ACTIVE),
        ([A], spent(status=IDLE), QUESTION, None, ["notice"], IDLE),
        ([], spent(REFUSE), None, None, ["notice"], IDLE),
        ([A], spent(REFUSE), None, None, ["notice", "message a CANCELLED", "status IDLE"], IDLE),
        ([A], spent(REFUSE, told=True), None, BUSY, ["message a CANCELLED"], ACTIVE),
        ([A, BEGUN], spent(REFUSE, told=True), None, None, ["message a CANCELLED", "status IDLE"], ACTIVE),
        (
            [A, B],
            spent(REFUSE),
            QUESTION,
            None,
            ["notice", "withdrawn q", "message a CANCELLED", "message b CANCELLED", "status IDLE"],
            IDLE,
        ),
    ],
)
def test_a_reached_limit_asks_or_cancels_what_waits(
    inputs: list[InputRow],
    state: SessionState,
    question: PromptRow | None,
    agent: RunView | None,
    said: list[str],
    after: SessionStatus,
) -> None:
    done = reached(*inputs, state=state, agent=agent, budget_prompt=question)
    assert brief(done.events) == said
    assert done.fields == {"status": after, "budget": replace(state.budget, told=True)}
    cancelled = {line.split()[1] for line in said if line.endswith("CANCELLED")}
    assert moves(done.changes) == dict.fromkeys(cancelled, InputState.CANCELLED)


def test_a_compaction_under_way_is_no_rest() -> None:
    done = reached(A, state=spent(REFUSE, told=True), is_compacting=True)
    assert brief(done.events) == ["message a CANCELLED"]


@pytest.mark.parametrize(
    ("inputs", "state", "message"),
    [
        ([A], spent(), "The budget is used up: betcode asks before the next message"),
        (
            [],
            spent(),
            "The budget is used up (5 turns spent, 5 turns allowed): betcode asks before the next message",
        ),
        (
            [A],
            spent(REFUSE),
            "The budget is used up (5 turns spent, 5 turns allowed): betcode refuses the next message",
        ),
    ],
)
def test_the_notice_has_the_figures_unless_a_question_follows(
    inputs: list[InputRow], state: SessionState, message: str
) -> None:
    notice = reached(*inputs, state=state).events[0].notice
    assert (notice.kind, notice.message) == (v1.NOTICE_KIND_BUDGET, message)
    assert notice.details == {"reached": "turns"}


@pytest.mark.parametrize(
    ("limits", "used", "words"),
    [
        (Amounts(turns=1), {"turns": 1}, "1 turn of 1 turn spent: raise the budget to 2 turns?"),
        (Amounts(cost_usd=0.2), {"cost_usd": 0.25}, "$0.25 of $0.2 spent: raise the budget to $0.45?"),
        (
            Amounts(tokens=1000, turns=9),
            {"input_tokens": 900, "output_tokens": 100, "turns": 3},
            "1,000 tokens of 1,000 tokens spent: raise the budget to 2,000 tokens?",
        ),
        (
            Amounts(duration_ms=60_000),
            {"worked_ms": 90_000},
            "1 min 30 s of 1 min spent: raise the budget to 2 min 30 s?",
        ),
    ],
)
def test_the_question_names_the_limits_that_are_reached(limits: Amounts, used: dict[str, Any], words: str) -> None:
    done = reached(A, state=SessionState(budget=set_to(limits, OnReached.ASK), **used))
    assert done.events[1].permission_request.description == words


def test_the_question_is_stored_with_its_number_and_time() -> None:
    done = reached(A, state=spent())
    row, event = saved_prompts(done.changes)["new"], done.events[1]
    assert (row.run, row.tool_name, row.seq, row.asked_ns) == (NO_RUN, "Budget", 42, NOW_NS)
    assert v1.AgentEvent.FromString(row.event) == event
    assert json.loads(row.input_json) == {
        "reached": ["turns"],
        "spent": "5 turns",
        "limit": "5 turns",
        "limit_if_allowed": "10 turns",
    }
    assert done.events[2].message_state.reason == "Waiting for a person to raise the budget"


# ---------------------------------------------------------------- the answer

ALLOW, DENY = PromptDecision(v1.ALLOW_ONCE), PromptDecision(v1.DENY)
GRANT = Rule(Action.ALLOW, "Budget", None, Source(Layer.SESSION))


@pytest.mark.parametrize(
    ("inputs", "status", "decision", "rests", "said", "after"),
    [
        ([A], IDLE, ALLOW, True, ["answered q", "notice"], ACTIVE),
        ([A], ACTIVE, ALLOW, False, ["answered q", "notice"], ACTIVE),
        ([], IDLE, ALLOW, True, ["answered q", "notice"], IDLE),
        ([A, B], IDLE, DENY, True, ["answered q", "message a CANCELLED", "message b CANCELLED", "status IDLE"], None),
        ([BEGUN, A], ACTIVE, DENY, False, ["answered q", "message a CANCELLED"], None),
    ],
)
def test_an_answer_raises_the_budget_or_cancels_what_waits(
    inputs: list[InputRow],
    status: SessionStatus,
    decision: PromptDecision,
    rests: bool,
    said: list[str],
    after: SessionStatus | None,
) -> None:
    view = session(*inputs, state=spent(told=True, status=status), budget_prompt=QUESTION)
    done = budget.on_answer(view, QUESTION, decision, ANN, NOW_NS, rests=rests)
    assert brief(done.events) == said
    more = replace(ASK, limits=Amounts(turns=10))  # and followers are notified again when it is reached
    assert done.fields == ({"budget": more, "status": after} if after else {})
    assert saved_prompts(done.changes)["q"].state is PromptState.ANSWERED
    assert audited(done.changes) == [("q", "allow" if decision.allows else "deny", DecidedBy.PERSON)]
    cancelled = {line.split()[1] for line in said if line.endswith("CANCELLED")}
    assert moves(done.changes) == dict.fromkeys(cancelled, InputState.CANCELLED)


@pytest.mark.parametrize(
    ("decision", "reason"),
    [(DENY, "the budget is used up and was not raised"), (replace(DENY, message="too dear"), "too dear")],
)
def test_the_sender_of_a_cancelled_message_is_told_why(decision: PromptDecision, reason: str) -> None:
    view = session(A, state=spent(), budget_prompt=QUESTION)
    done = budget.on_answer(view, QUESTION, decision, ANN, NOW_NS, rests=False)
    assert done.events[-1].message_state.reason == reason


def test_the_notice_of_a_raise_names_the_new_limit() -> None:
    view = session(A, state=spent(turns=7), budget_prompt=QUESTION)
    done = budget.on_answer(view, QUESTION, ALLOW, ANN, NOW_NS, rests=True)
    assert done.events[1].notice.message == "The budget was raised to 12 turns"


@pytest.mark.parametrize(
    "decision",
    [
        PromptDecision(v1.ALLOW_SESSION, grant=GRANT),
        PromptDecision(v1.ALLOW_WITH_EDIT, updated_input="{}"),
    ],
)
def test_a_budget_is_neither_granted_nor_edited(decision: PromptDecision) -> None:
    view = session(A, state=spent(), budget_prompt=QUESTION)
    with pytest.raises(InvalidRequest, match="accepts only ALLOW_ONCE or DENY"):
        budget.on_answer(view, QUESTION, decision, ANN, NOW_NS, rests=True)


# ---------------------------------------------------------------- other limits, cancels and expiry

UNMEASURED = replace(CAPABLE, cost=False)


@pytest.mark.parametrize(
    ("limits", "capabilities", "messages"),
    [
        (NO_BUDGET, CAPABLE, ["The session no longer has a budget"]),
        (ASK, CAPABLE, ["The budget is 5 turns; at the limit betcode asks before the next message"]),
        (REFUSE, CAPABLE, ["The budget is 5 turns; at the limit betcode refuses the next message"]),
        (
            set_to(Amounts(cost_usd=1, turns=2), OnReached.ASK),
            UNMEASURED,
            [
                "The budget is $1, 2 turns; at the limit betcode asks before the next message",
                "The cost limit has no effect: claude does not report it. Limit turns or time instead",
            ],
        ),
    ],
)
def test_a_change_is_told_with_the_limits_that_have_no_effect(
    limits: Budget, capabilities: Capabilities, messages: list[str]
) -> None:
    view = session(state=spent(status=IDLE), capabilities=capabilities)
    done = budget.on_change(view, limits, NOW_NS)
    assert [event.notice.message for event in done.events] == messages
    assert (done.changes, done.fields) == ((), {"budget": limits, "status": IDLE})


@pytest.mark.parametrize(
    ("inputs", "question", "said", "after"),
    [
        ([A], QUESTION, ["notice", "withdrawn q"], ACTIVE),
        ([], QUESTION, ["notice", "withdrawn q"], IDLE),
        ([A], None, ["notice"], IDLE),
    ],
)
def test_a_change_withdraws_the_question_about_the_old_limits(
    inputs: list[InputRow], question: PromptRow | None, said: list[str], after: SessionStatus
) -> None:
    view = session(*inputs, state=spent(status=IDLE), budget_prompt=question)
    done = budget.on_change(view, REFUSE, NOW_NS)
    assert (brief(done.events), done.fields["status"]) == (said, after)
    assert audited(done.changes) == ([("q", "withdrawn", DecidedBy.PERSON)] if question else [])


@pytest.mark.parametrize(
    ("inputs", "rests", "said"),
    [
        ([A, B], True, ["withdrawn q", "message a CANCELLED", "message b CANCELLED", "status IDLE"]),
        ([A, BEGUN, given("g")], False, ["withdrawn q", "message a CANCELLED"]),
        ([], True, ["withdrawn q", "status IDLE"]),
    ],
)
def test_a_cancel_takes_the_question_and_what_waits_for_it(
    inputs: list[InputRow], rests: bool, said: list[str]
) -> None:
    view = session(*inputs, state=spent(), budget_prompt=QUESTION)
    done = budget.cancel_waiting(view, "cancelled", NOW_NS, rests=rests)
    assert (brief(done.events), done.fields) == (said, {})
    assert saved_prompts(done.changes)["q"].state is PromptState.WITHDRAWN
    assert audited(done.changes) == [("q", "withdrawn", DecidedBy.PERSON)]


def test_an_expired_question_cancels_what_waits_and_leaves_its_own_end_to_the_caller() -> None:
    view = session(A, BEGUN, state=spent(), budget_prompt=QUESTION)
    done = budget.drop_waiting(view, "nobody answered", rests=True)
    assert brief(done.events) == ["message a CANCELLED", "status IDLE"]
    assert moves(done.changes) == {"a": InputState.CANCELLED}
    assert done.events[0].message_state.reason == "nobody answered"


@pytest.mark.parametrize(
    ("question", "inputs", "given_up", "said"),
    [
        (QUESTION, [A, B], {"a", "b"}, ["withdrawn q"]),
        (QUESTION, [A, B], {"a"}, []),
        (QUESTION, [A, BEGUN], {"a"}, ["withdrawn q"]),
        (QUESTION, [], set(), ["withdrawn q"]),
        (None, [A], {"a"}, []),
    ],
)
def test_a_question_that_no_message_waits_for_is_withdrawn(
    question: PromptRow | None, inputs: list[InputRow], given_up: set[str], said: list[str]
) -> None:
    done = budget.withdraw_if_nothing_waits(SESSION, question, inputs, given_up, "in vain", NOW_NS)
    assert brief(done.events) == said
    assert audited(done.changes) == ([("q", "withdrawn", DecidedBy.AGENT)] if said else [])
