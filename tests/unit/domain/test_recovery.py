"""How long a session waits after crashes, and when it gives up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.runs.crash_policy import CrashHistory, CrashPolicy

POLICY = CrashPolicy()
SECOND = 1_000_000_000


def crashed_at(*seconds: float, policy: CrashPolicy = POLICY) -> CrashHistory:
    history = CrashHistory()
    for second in seconds:
        history = history.with_crash(int(second * SECOND), policy)
    return history


@pytest.mark.behaviour("recovery.crash.backoff")
def test_successive_crashes_wait_longer_and_longer_up_to_half_a_minute() -> None:
    history, waits = CrashHistory(), []
    for number in range(9):
        history = history.with_crash(number * 100 * SECOND, POLICY)
        waits.append(history.wait_s(POLICY))
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_a_turn_that_was_finished_between_begins_the_ladder_again() -> None:
    again = crashed_at(1, 2, 3).turn_finished().with_crash(4 * SECOND, POLICY)
    assert again.wait_s(POLICY) == 0.5
    assert len(again.times_ns) == 4, "for the limit they count all the same"


@pytest.mark.behaviour("recovery.crash.gives-up")
def test_the_fifth_crash_in_a_minute_is_too_many() -> None:
    assert not crashed_at(0, 1, 3, 7).too_many(POLICY)
    assert crashed_at(0, 1, 3, 7, 59.9).too_many(POLICY)


@pytest.mark.behaviour("recovery.crash.slow-crashes-go-on")
@given(st.lists(st.floats(min_value=15.01, max_value=1e6), min_size=1, max_size=60))
def test_crashes_of_which_fewer_than_five_fall_into_a_minute_never_are(pauses: list[float]) -> None:
    history, at = CrashHistory(), 0.0
    for pause in pauses:
        at += pause
        history = history.with_crash(int(at * SECOND), POLICY)
        assert not history.too_many(POLICY)
        assert len(history.times_ns) < POLICY.limit, "what no longer counts is not kept"


def test_a_clock_that_was_set_back_neither_counts_for_ever_nor_waits_for_ever() -> None:
    history = crashed_at(10_000, 10_001, 10_002)
    later = history.with_crash(5 * SECOND, POLICY)
    assert later.times_ns == (5 * SECOND,)
    assert history.left_to_wait_s(POLICY, 5 * SECOND) == history.wait_s(POLICY) == 2
    assert history.left_to_wait_s(POLICY, 99_999 * SECOND) == 0


def test_what_is_left_of_a_wait_is_counted_from_the_crash() -> None:
    history = crashed_at(1, 2, 3)
    assert history.left_to_wait_s(POLICY, int(3.5 * SECOND)) == 1.5
