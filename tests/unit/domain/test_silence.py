"""How long nothing was heard from an agent."""

from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.runs.silence import LONGEST_STEP_S, Silence

STEPS = st.lists(st.floats(min_value=0.0, max_value=1e6), max_size=40)


def listen(steps: list[float], *, heard_at: float = -1.0) -> Silence:
    silence, now = Silence().looked(0.0, heard_at, watched=True), 0.0
    for step in steps:
        now += step
        silence = silence.looked(now, heard_at, watched=True)
    return silence


def test_silence_is_counted_from_look_to_look() -> None:
    assert listen([1.0, 1.0, 0.5]).seconds == 2.5


def test_a_word_begins_it_anew() -> None:
    silence = listen([1.0, 1.0])
    assert silence.looked(3.0, 2.5, watched=True).seconds == 0.0


def test_while_nobody_watches_nothing_is_counted_and_watching_begins_anew() -> None:
    silence = listen([1.0, 1.0]).looked(3.0, -1.0, watched=False)
    assert silence.looked(4.0, -1.0, watched=True).seconds == 1.0


@given(STEPS)
def test_a_machine_that_slept_has_not_listened(steps: list[float]) -> None:
    """However long the pauses between looks were, each counts as one look."""
    assert listen(steps).seconds <= LONGEST_STEP_S * len(steps)


@given(STEPS, st.integers(min_value=0, max_value=39))
def test_it_is_never_longer_than_the_time_since_the_last_word(steps: list[float], word: int) -> None:
    silence, now, heard = Silence(), 0.0, 0.0
    for number, step in enumerate(steps):
        now += step
        heard = now if number == word else heard
        silence = silence.looked(now, heard, watched=True)
        assert 0.0 <= silence.seconds <= now - heard + 1e-6
