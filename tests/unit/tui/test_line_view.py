"""Many lines in any number of columns."""

import pytest
from textual.app import App, ComposeResult

from betcode.tui.widgets.line_view import LineKind, LineView, ViewLine, folded

_WORDS = "abcdefghijklmnopqrstuvwxyz0123456789"


class OneBody(App[None]):
    def compose(self) -> ComposeResult:
        yield LineView()


@pytest.mark.anyio
@pytest.mark.parametrize("lines", [1, 20])
async def test_no_letter_is_behind_the_bar(lines: int) -> None:
    app = OneBody()
    async with app.run_test(size=(30, 10)) as pilot:
        body = app.query_one(LineView)
        body.allow_rows(5)
        body.show([ViewLine(_WORDS, LineKind.DIM)] * lines, from_the_top=True)
        await pilot.pause()
        strips = app.screen._compositor.render_strips()[:2]
        seen = "".join("".join(segment.text for segment in strip)[: body.size.width - 1].rstrip() for strip in strips)
        assert seen == _WORDS


def test_short_words_are_not_broken_and_nothing_is_lost() -> None:
    text = "Next: What would you like to try next?"
    assert list(folded(text, 36)) == ["Next: What would you like to try ", "next?"]
    assert "".join(folded(_WORDS + " " + text, 20)) == _WORDS + " " + text
