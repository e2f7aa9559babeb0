"""A text of any length in lines that fit."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from betcode.tui.whole_text import folded


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Mn", "Me", "Cf"))), st.integers(2, 20))
def test_every_part_fits_and_nothing_is_left_out(line: str, width: int) -> None:
    parts = folded(line, width)
    assert "".join(parts) == line
    assert all(cell_len(part) <= width for part in parts)
    assert parts
