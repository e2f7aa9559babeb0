"""An event's place is its session and its number, in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.errors import StorageFailed
from betcode.storage.sessions.event_rowid import first_place, last_place, place_of, seq_of

sessions = st.integers(1, 2**23 - 1)
numbers = st.integers(0, 2**40 - 1)


@given(session=sessions, seq=numbers)
def test_the_number_comes_back_and_the_place_fits_the_database(session: int, seq: int) -> None:
    place = place_of(session, seq)
    assert seq_of(place) == seq
    assert first_place(session) <= place <= last_place(session) < 2**63


@given(one=st.tuples(sessions, numbers), other=st.tuples(sessions, numbers))
def test_places_are_in_the_order_of_session_and_number(one: tuple[int, int], other: tuple[int, int]) -> None:
    assert (place_of(*one) < place_of(*other)) == (one < other)


@pytest.mark.parametrize(("session", "seq"), [(0, 1), (-1, 1), (2**23, 1), (1, -1), (1, 2**40)])
def test_what_has_no_place_is_refused(session: int, seq: int) -> None:
    with pytest.raises(StorageFailed):
        place_of(session, seq)
