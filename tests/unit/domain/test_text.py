"""Text that can be written down."""

from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.values.text import beginning, shortened, valid


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_becomes_one_that_can_be_encoded(text: str) -> None:
    valid(text).encode()


@given(st.text())
def test_valid_text_is_left_alone(text: str) -> None:
    assert valid(text) == text


def test_a_pair_becomes_its_character_and_a_half_a_replacement() -> None:
    assert valid("\ud83d\ude00 \ud83d x \ude00") == "\U0001f600 \ufffd x \ufffd"


@given(st.text(), st.integers(1, 20))
def test_a_shortened_text_is_within_its_limit(text: str, limit: int) -> None:
    assert len(shortened(text, limit)) <= limit
    assert (shortened(text, limit) == text) == (len(text) <= limit or (text.endswith("…") and len(text) == limit))


@given(st.text(), st.integers(0, 40))
def test_a_beginning_ends_between_characters(text: str, limit: int) -> None:
    cut = beginning(text.encode(), limit)
    assert text.startswith(cut)
    assert limit - 3 <= len(cut.encode()) <= limit or cut == text
