"""How an agent's transcript ends, as a table: an abandoned turn is never continued."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.sessions.transcript import NEXT, TranscriptEnd, TurnOutcome, outcome_of

FINISHED, BROKE_OFF, ABANDONED = TurnOutcome.FINISHED, TurnOutcome.BROKE_OFF, TurnOutcome.ABANDONED


def after(outcomes: Sequence[TurnOutcome]) -> TranscriptEnd:
    end = TranscriptEnd.FINISHED
    for outcome in outcomes:
        end = end.after(outcome)
    return end


def test_the_table_has_every_pair() -> None:
    assert set(NEXT) == {(end, outcome) for end in TranscriptEnd for outcome in TurnOutcome}


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], TranscriptEnd.FINISHED),
        ([BROKE_OFF], TranscriptEnd.INTERRUPTED),
        ([BROKE_OFF, BROKE_OFF], TranscriptEnd.INTERRUPTED),
        ([BROKE_OFF, FINISHED], TranscriptEnd.FINISHED),
        ([ABANDONED], TranscriptEnd.ABANDONED),
        ([BROKE_OFF, ABANDONED], TranscriptEnd.ABANDONED),
        ([ABANDONED, BROKE_OFF], TranscriptEnd.INTERRUPTED_AFTER_ABANDONED),
        ([ABANDONED, BROKE_OFF, BROKE_OFF], TranscriptEnd.INTERRUPTED_AFTER_ABANDONED),
        ([ABANDONED, BROKE_OFF, ABANDONED], TranscriptEnd.ABANDONED),
        ([ABANDONED, BROKE_OFF, FINISHED], TranscriptEnd.FINISHED),
        ([ABANDONED, FINISHED, BROKE_OFF], TranscriptEnd.INTERRUPTED),
    ],
)
def test_outcomes_one_after_the_other(outcomes: Sequence[TurnOutcome], expected: TranscriptEnd) -> None:
    assert after(outcomes) is expected


@given(st.lists(st.sampled_from(TurnOutcome)))
def test_nothing_is_continued_between_an_abandoned_turn_and_the_next_finished_one(
    outcomes: Sequence[TurnOutcome],
) -> None:
    last_finished = max((place for place, each in enumerate(outcomes) if each is FINISHED), default=-1)
    since = outcomes[last_finished + 1 :]
    end = after(outcomes)
    assert end.is_continuable == (bool(since) and ABANDONED not in since)
    assert end.turn_interrupted == (bool(since) and since[-1] is BROKE_OFF)


@pytest.mark.parametrize(
    ("stop_reason", "outcome"),
    [
        ("end_turn", FINISHED),
        ("cancelled", FINISHED),
        ("error", ABANDONED),
        ("max_turns", ABANDONED),
        ("max_tokens", ABANDONED),
        ("refusal", ABANDONED),
        ("", ABANDONED),
    ],
)
def test_only_an_end_that_the_transcript_shows_finishes_a_turn(stop_reason: str, outcome: TurnOutcome) -> None:
    assert outcome_of(stop_reason) is outcome
