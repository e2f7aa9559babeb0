"""Where the boundary goes, from events alone."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.store.rows import SessionState
from betcode.engine.core.counters import SessionCounters
from betcode.v1 import agent_pb2 as v1

Event = v1.AgentEvent


def asked() -> Event:
    return Event(user_input=v1.UserInput(content="go on"))


def answer(message_id: str) -> Event:
    return Event(text_delta=v1.TextDelta(text="words", is_complete=True, message_id=message_id))


def ended(reason: str = "end_turn") -> Event:
    return Event(turn_complete=v1.TurnComplete(stop_reason=reason))


def used(context_tokens: int) -> Event:
    return Event(usage=v1.UsageReport(context_tokens=context_tokens))


def compacted(tokens_after: int = 40) -> Event:
    return Event(compaction=v1.CompactionBoundary(trigger="manual", tokens_after=tokens_after))


def counted(state: SessionState, *batches: list[Event]) -> SessionState:
    """The state after these batches, each of which was one commit."""
    for batch in batches:
        tally = SessionCounters(state)
        for event in batch:
            tally.number(event)
        state = tally.state(1)
    return state


@pytest.mark.behaviour("compaction.boundary", "compaction.tokens-before", "compaction.tokens-saved")
def test_the_boundary_is_the_newest_answer_that_ended_its_turn() -> None:
    told = compacted()
    turns = [asked(), answer("a"), used(100), ended(), asked(), answer("b"), answer("c"), used(900), ended()]
    state = counted(SessionState(), [*turns, asked(), answer("d"), told])
    assert state.compaction_sequence == 7
    assert state.context_tokens == 40
    assert (told.compaction.compacted_before, told.compaction.tokens_saved) == (7, 860)
    assert (told.compaction.messages_before, told.compaction.messages_after) == (7, 3)


@pytest.mark.behaviour("compaction.boundary")
@pytest.mark.parametrize("reason", ["cancelled", "crashed", "error", "stopped"])
def test_an_answer_that_was_broken_off_is_none(reason: str) -> None:
    turns = [asked(), answer("a"), ended(), asked(), answer("b"), ended(reason), ended()]
    assert counted(SessionState(), [*turns, compacted()]).compaction_sequence == 2


@pytest.mark.behaviour("compaction.messages-before", "compaction.messages-after")
def test_the_next_compaction_counts_from_the_last_boundary() -> None:
    second = compacted()
    state = counted(SessionState(), [asked(), answer("a"), ended(), compacted(), ended()])
    state = counted(state, [asked(), answer("b"), ended(), second])
    assert state.compaction_sequence == 7
    assert (second.compaction.messages_before, second.compaction.messages_after) == (3, 1)


def test_without_a_finished_exchange_nothing_is_left_out() -> None:
    told = compacted()
    state = counted(SessionState(), [asked(), answer("a"), told])
    assert state.compaction_sequence == 0
    assert (told.compaction.messages_before, told.compaction.messages_after) == (2, 2)


def test_a_cleared_conversation_is_not_a_compacted_one() -> None:
    cleared = Event(compaction=v1.CompactionBoundary(trigger="clear", new_conversation_id="other"))
    state = counted(SessionState(), [asked(), answer("a"), ended(), cleared])
    assert state.compaction_sequence == 0


_EVENTS = st.sampled_from(
    [asked, lambda: answer("a"), lambda: answer("b"), ended, lambda: ended("cancelled"), compacted, lambda: used(7)]
)


@given(st.lists(_EVENTS, min_size=1, max_size=30), st.integers(1, 30))
def test_the_boundary_never_moves_back_and_does_not_depend_on_the_commits(
    kinds: list[Callable[[], Event]], cut: int
) -> None:
    state = SessionState()
    for at in range(0, len(kinds), cut):
        after = counted(state, [make() for make in kinds[at : at + cut]])
        assert after.compaction_sequence >= state.compaction_sequence
        state = after
    assert state == counted(SessionState(), [make() for make in kinds])
