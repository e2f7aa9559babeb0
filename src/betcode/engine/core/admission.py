"""Decide which inputs may go to the agent now, and whether the session needs a slot for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from betcode.domain.sessions import budget_state
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.rows import NO_SLOT, OPENS_TURN, InputKind, InputRow
from betcode.engine.core.view import RunView, SessionView

# ---------------------------------------------------------------- delivery


@dataclass(frozen=True, slots=True)
class DeliveryFacts:
    """What is known of an agent beside its run, when inputs are to be assigned to it."""

    has_slot: bool = True
    is_ready: bool = True  # its greeting is over
    is_compacting: bool = False
    awaits_screening: bool = False  # it would begin with a message before it shows its tool calls


def assignable(session: SessionView, run: RunView, facts: DeliveryFacts) -> list[InputRow]:
    """The inputs that may go to this run now, in order."""
    one_at_a_time = _one_at_a_time(session)
    is_busy = one_at_a_time is not None and (run.turn_open or session.unconsumed(run))
    over_budget = budget_state.is_reached(session.state)
    ready: list[InputRow] = []
    for row in session.inputs.values():
        if row.run == run.row.key:
            continue
        if row.kind is InputKind.MESSAGE:
            if facts.is_compacting or facts.awaits_screening:
                continue
            if run.row.cancel_step:
                continue  # it came after the cancel, and must not be hit by it
            if one_at_a_time is not None and (one_at_a_time is _Serial.ALL or not row.number):
                is_first = not any(each.kind is InputKind.MESSAGE for each in ready)
                if is_busy or not is_first or (over_budget and not row.number):
                    continue
        if row.kind in OPENS_TURN and not facts.is_ready:
            continue
        # The agent itself queues a message that comes during a turn.
        if row.kind in NO_SLOT or facts.has_slot or (row.kind is InputKind.MESSAGE and run.turn_open):
            ready.append(row)
    return ready


class _Serial(Enum):
    NEW = "messages that no agent was given"
    ALL = "every message"


def _one_at_a_time(session: SessionView) -> _Serial | None:
    """Which messages go one at a time; None: all of them may go at once.

    With a budget, each turn is counted before the next begins. An agent without a queue would mix a message into the
    turn at work. One that was not told to continue a broken turn may take the turn's message for known, and has to
    report that before it gets the next one.
    """
    if session.state.transcript is TranscriptEnd.INTERRUPTED_AFTER_ABANDONED:
        return _Serial.ALL
    if session.state.budget or not session.capabilities.queues_messages:
        return _Serial.NEW
    return None


# ---------------------------------------------------------------- slots


class SlotChange(Enum):
    NONE = "as it is"
    TAKE = "a turn began by itself"
    RELEASE = "nothing is at work, and nothing is to begin"


def needs_slot(session: SessionView, run: RunView | None) -> bool:
    """Whether an open input can only be handled with a slot."""
    over_budget = budget_state.is_reached(session.state)
    return any(_needs_slot(row, run, over_budget=over_budget) for row in session.inputs.values())


def _needs_slot(row: InputRow, run: RunView | None, *, over_budget: bool) -> bool:
    is_assigned = run is not None and row.run == run.row.key
    if is_assigned or row.kind in NO_SLOT:
        return False
    if row.kind is InputKind.MESSAGE and not row.number and over_budget:
        return False
    return row.kind is InputKind.ANSWER or run is None or not run.turn_open


def has_priority(inputs: Iterable[InputRow]) -> bool:
    """Whether a turn has begun already, so that its session comes first in line."""
    return any(row.kind is InputKind.ANSWER or row.number for row in inputs)


def slot_change(session: SessionView, run: RunView | None, *, has_slot: bool) -> SlotChange:
    """Whether to keep, take or release the slot as the agent works, waits or rests."""
    works = run is not None and (run.turn_open or session.unconsumed(run)) and not session.prompts
    # In this order: an agent at work with a slot keeps it, however many messages are open.
    if (works and has_slot) or needs_slot(session, run):
        return SlotChange.NONE
    return SlotChange.TAKE if works else SlotChange.RELEASE
