"""Which inputs may go to the agent now, and when a session needs a slot."""

from dataclasses import replace
from typing import Any

import pytest

from betcode.domain.runs.state import CancelStep
from betcode.domain.sessions.budget import Amounts, Budget, OnReached, set_to
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.rows import InputKind, InputRow, PromptRow, SessionState
from betcode.engine.core.admission import (
    DeliveryFacts,
    SlotChange,
    assignable,
    has_priority,
    needs_slot,
    slot_change,
)
from betcode.engine.core.status import status_after
from betcode.engine.core.view import RunView
from support.engine.core_values import CAPABLE, EARLIER_RUN, given, message, other, prompt, run, session

ACTIVE = SessionState(status=SessionStatus.ACTIVE)
ALLOWED: Budget = set_to(Amounts(turns=5), OnReached.ASK)
WITH_BUDGET = replace(ACTIVE, budget=ALLOWED)
OVER_BUDGET = replace(WITH_BUDGET, turns=5)
UNCLEAR = replace(ACTIVE, transcript=TranscriptEnd.INTERRUPTED_AFTER_ABANDONED)
NO_QUEUE = replace(CAPABLE, queues_messages=False)

A, B = message("a"), message("b")
BEGUN = message("begun", run=EARLIER_RUN, number=3)  # by an agent that is gone
ANSWER, CONTROL, INTERRUPT, COMPACTION = (
    other(kind) for kind in (InputKind.ANSWER, InputKind.CONTROL, InputKind.INTERRUPT, InputKind.COMPACTION)
)
EVERYTHING = [A, B, BEGUN, ANSWER, CONTROL, INTERRUPT, COMPACTION]
IDLE_RUN, BUSY = run(), run(turn_open=True)


@pytest.mark.parametrize(
    ("agent", "facts", "assigned"),
    [
        (IDLE_RUN, DeliveryFacts(), "a b begun answer control interrupt compaction"),
        (IDLE_RUN, DeliveryFacts(has_slot=False), "control interrupt"),
        (BUSY, DeliveryFacts(has_slot=False), "a b begun control interrupt"),
        (IDLE_RUN, DeliveryFacts(is_ready=False), "answer control interrupt"),
        (IDLE_RUN, DeliveryFacts(is_compacting=True), "answer control interrupt compaction"),
        (IDLE_RUN, DeliveryFacts(awaits_screening=True), "answer control interrupt compaction"),
        (run(CancelStep.INTERRUPTED, turn_open=True), DeliveryFacts(), "answer control interrupt compaction"),
    ],
)
def test_what_may_go_to_the_agent(agent: RunView, facts: DeliveryFacts, assigned: str) -> None:
    ready = assignable(session(*EVERYTHING), agent, facts)
    assert [row.input_id for row in ready] == assigned.split()


@pytest.mark.parametrize(
    ("inputs", "state", "capabilities", "agent", "assigned"),
    [
        ([A, B], WITH_BUDGET, CAPABLE, IDLE_RUN, "a"),
        ([A, B], WITH_BUDGET, CAPABLE, BUSY, ""),
        ([given("g"), A], WITH_BUDGET, CAPABLE, IDLE_RUN, ""),
        ([BEGUN, A], WITH_BUDGET, CAPABLE, IDLE_RUN, "begun"),
        ([A, BEGUN], WITH_BUDGET, CAPABLE, BUSY, "begun"),
        ([A, B], OVER_BUDGET, CAPABLE, IDLE_RUN, ""),
        ([BEGUN, A], OVER_BUDGET, CAPABLE, IDLE_RUN, "begun"),
        ([A, ANSWER], OVER_BUDGET, CAPABLE, IDLE_RUN, "answer"),
        ([A, B], ACTIVE, NO_QUEUE, IDLE_RUN, "a"),
        ([A, B], ACTIVE, NO_QUEUE, BUSY, ""),
        ([A, B, CONTROL], ACTIVE, NO_QUEUE, BUSY, "control"),
        ([BEGUN, A], UNCLEAR, CAPABLE, IDLE_RUN, "begun"),
        ([BEGUN, replace(BEGUN, input_id="second")], UNCLEAR, CAPABLE, IDLE_RUN, "begun"),
        ([given("g"), BEGUN], UNCLEAR, CAPABLE, IDLE_RUN, ""),
        ([BEGUN, replace(BEGUN, input_id="second")], WITH_BUDGET, CAPABLE, IDLE_RUN, "begun second"),
        ([BEGUN, A], replace(OVER_BUDGET, transcript=UNCLEAR.transcript), CAPABLE, IDLE_RUN, "begun"),
        ([given("g"), A, B], ACTIVE, CAPABLE, BUSY, "a b"),
    ],
)
def test_messages_go_one_at_a_time_with_a_budget_without_a_queue_and_after_an_unclear_turn(
    inputs: list[InputRow], state: SessionState, capabilities: Any, agent: RunView, assigned: str
) -> None:
    ready = assignable(session(*inputs, state=state, capabilities=capabilities), agent, DeliveryFacts())
    assert [row.input_id for row in ready] == assigned.split()


@pytest.mark.parametrize(
    ("inputs", "state", "agent", "needed"),
    [
        ([], ACTIVE, None, False),
        ([A], ACTIVE, None, True),
        ([A], ACTIVE, IDLE_RUN, True),
        ([A], ACTIVE, BUSY, False),
        ([given("g")], ACTIVE, IDLE_RUN, False),
        ([ANSWER], ACTIVE, BUSY, True),
        ([CONTROL, INTERRUPT], ACTIVE, None, False),
        ([COMPACTION], OVER_BUDGET, None, True),
        ([A], OVER_BUDGET, None, False),
        ([BEGUN], OVER_BUDGET, None, True),
        ([A, ANSWER], OVER_BUDGET, IDLE_RUN, True),
    ],
)
def test_a_slot_is_needed_for_what_begins_or_continues_a_turn(
    inputs: list[InputRow], state: SessionState, agent: RunView | None, needed: bool
) -> None:
    assert needs_slot(session(*inputs, state=state), agent) is needed


@pytest.mark.parametrize(
    ("inputs", "first"), [([], False), ([A, CONTROL], False), ([A, BEGUN], True), ([ANSWER], True)]
)
def test_a_session_whose_turn_has_begun_comes_first_in_line(inputs: list[InputRow], first: bool) -> None:
    assert has_priority(inputs) is first


@pytest.mark.parametrize(
    ("inputs", "prompts", "agent", "has_slot", "change"),
    [
        ([given("g")], {}, BUSY, True, SlotChange.NONE),
        ([given("g")], {}, IDLE_RUN, True, SlotChange.NONE),
        ([], {}, BUSY, False, SlotChange.TAKE),
        ([], {}, IDLE_RUN, True, SlotChange.RELEASE),
        ([], {}, None, False, SlotChange.RELEASE),
        ([A], {}, None, False, SlotChange.NONE),
        ([], {"p1": prompt()}, BUSY, True, SlotChange.RELEASE),
        ([ANSWER], {"p1": prompt()}, BUSY, True, SlotChange.NONE),
    ],
)
def test_the_slot_follows_the_agent(
    inputs: list[InputRow],
    prompts: dict[str, PromptRow],
    agent: RunView | None,
    has_slot: bool,
    change: SlotChange,
) -> None:
    assert slot_change(session(*inputs, prompts=prompts), agent, has_slot=has_slot) is change


NEW, IDLE, WORKING, CLOSED = SessionStatus.NEW, SessionStatus.IDLE, SessionStatus.ACTIVE, SessionStatus.CLOSED


@pytest.mark.parametrize(
    ("status", "inputs", "question", "turn_open", "after"),
    [
        (NEW, [A], None, False, WORKING),
        (NEW, [], None, False, NEW),
        (IDLE, [COMPACTION], None, False, WORKING),
        (IDLE, [ANSWER, CONTROL], None, False, IDLE),
        (IDLE, [], None, True, WORKING),
        (WORKING, [], None, False, IDLE),
        (WORKING, [], None, True, WORKING),
        (WORKING, [A], None, False, WORKING),
        (WORKING, [A], prompt("budget"), False, IDLE),
        (WORKING, [BEGUN], prompt("budget"), False, WORKING),
        (IDLE, [A], prompt("budget"), False, IDLE),
        (CLOSED, [A], None, True, CLOSED),
    ],
)
def test_a_session_is_active_while_a_turn_is_open_or_to_begin(
    status: SessionStatus, inputs: list[InputRow], question: PromptRow | None, turn_open: bool, after: SessionStatus
) -> None:
    assert status_after(status, inputs, question, turn_open=turn_open) is after
