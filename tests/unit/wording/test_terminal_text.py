"""Text that is safe for a terminal."""

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from betcode.cli.terminal.table import table
from betcode.wording.terminal_text import clean, columns, ending, one_line, safe_json, wrapped

any_text = st.text(st.characters(), max_size=60)
REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"


@given(any_text)
def test_no_control_character_leaks(text: str) -> None:
    for letter in clean(text):
        assert letter in "\n\t" or unicodedata.category(letter) not in ("Cc", "Cs")
        assert letter not in REORDERING


@given(any_text)
def test_cleaned_text_is_unchanged_by_cleaning(text: str) -> None:
    assert clean(clean(text)) == clean(text)


def test_an_escape_sequence_is_seen_and_does_nothing() -> None:
    assert clean("\x1b]0;title\x07\x1b[2J") == "␛]0;title␇␛[2J"
    assert clean("\x9b31m") == "\\u009b31m"
    assert clean("a\rb\x7f") == "a␍b␡"


@pytest.mark.parametrize("unseen", "\u200b\u00ad\u3164\u2060\u115f\u2800\u200c\u200d\u202e\u2066\u180e")
def test_an_invisible_character_is_made_visible(unseen: str) -> None:
    assert clean(f"r{unseen}m") == f"r\\u{ord(unseen):04x}m"


def test_ordinary_text_of_any_script_is_untouched() -> None:
    text = "naïve 日本語 🙂👩‍👩‍👧 עברית\n\tend"
    assert clean(text) == text


@given(any_text, st.integers(2, 40))
def test_one_line_fits(text: str, width: int) -> None:
    line = one_line(text, width)
    assert "\n" not in line
    assert columns(line) <= width


FAMILY = "👨\u200d👩\u200d👧"


@given(any_text, st.integers(2, 20))
@example(FAMILY * 9, 4)
@example("e\u0301" * 30, 4)
def test_cut_text_is_clean_and_fits(text: str, width: int) -> None:
    for cut in (one_line(text, width), ending(clean(text), width), *wrapped(text, width)):
        assert columns(clean(cut).replace("\n", "").replace("\t", "")) <= width
        assert not cut.startswith(("…\u0301", "…\u200d"))


@given(st.lists(st.tuples(any_text, any_text, any_text), max_size=5))
def test_a_table_has_one_line_per_row_in_aligned_columns(rows: list[tuple[str, str, str]]) -> None:
    lines = table(("A", "B", "C"), rows, 400)
    assert len(lines) == len(rows) + 1
    assert all("\n" not in line for line in lines)


@given(st.recursive(st.text(max_size=20), lambda inner: st.lists(inner, max_size=3)))
def test_json_for_a_terminal_means_the_same(value: object) -> None:
    written = safe_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(written) == value
    assert not any(letter in written for letter in ("\x9b", "\x7f", "\u202e"))
