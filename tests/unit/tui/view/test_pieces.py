"""Text is drawn the same however its stream was cut."""

from hypothesis import given
from hypothesis import strategies as st

from betcode.tui.view import pieces
from betcode.tui.view.markdown_lines import MarkdownLines
from betcode.tui.view.pieces import PieceKind, Pieces

_BITS = st.sampled_from(
    ("# ", "#", "\n", "\n\n", "- a", "1. b", "  ", "   ```", "```", "```python\n", "`", "~~~", "> ", "| a | b |\n",
     "|-|-|\n", "**", "*", "word ", "日本", "[x](y)", "\r\n", "\t", "===", "x" * 40, "\x1b[31m", "&#x202e;", "<b>")
)  # fmt: skip
_TEXTS = st.lists(_BITS, max_size=40).map("".join)


@given(_TEXTS, st.lists(st.integers(0, 400), max_size=12), st.sampled_from([20, 40, 80]))
def test_lines_do_not_depend_on_where_the_deltas_were_cut(text: str, cuts: list[int], width: int) -> None:
    growing = MarkdownLines(width)
    for cut in sorted(cuts):
        growing.lines(text[:cut])
    assert growing.lines(text) == MarkdownLines(width).lines(text)


@given(_TEXTS, st.data())
def test_long_text_is_cut_at_the_same_positions(text: str, data: st.DataObject) -> None:
    text *= 40  # far beyond the limit of a piece
    growing = Pieces()
    for cut in sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8))):
        growing.take(text[:cut])
    growing.take(text)
    whole = Pieces()
    whole.take(text)
    assert (growing.settled, growing.last) == (whole.settled, whole.last)
    assert all(len(piece.text) <= pieces._LIMIT for piece in whole.settled)


def test_replaced_text_is_drawn_again() -> None:
    growing = MarkdownLines(40)
    growing.lines("one\n\ntwo\n\nthree")
    assert growing.lines("other\n\nwords") == MarkdownLines(40).lines("other\n\nwords")


def test_code_ends_where_its_fence_does() -> None:
    cut = Pieces()
    cut.take("Look:\n```python\n\na\n\nb\n```\nDone.\n")
    assert [(piece.kind, piece.text, piece.language) for piece in [*cut.settled, cut.last] if piece] == [
        (PieceKind.PROSE, "Look:", ""),
        (PieceKind.CODE, "\na\n\nb", "python"),
        (PieceKind.PROSE, "Done.", ""),
    ]
