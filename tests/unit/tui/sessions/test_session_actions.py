"""The output of actions on a session."""

from pathlib import Path

import pytest
from textual.app import App
from textual.strip import Strip

import betcode.tui
from betcode.tui.sessions.session_actions import patch_lines
from betcode.tui.widgets.dialogs import TextView
from betcode.tui.widgets.line_view import LineKind, LineView


class Reader(App[None]):
    CSS_PATH = Path(betcode.tui.__file__).with_name("screen.tcss")


def test_each_line_of_a_patch_has_its_kind() -> None:
    patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\ndiff --git a/y b/y\n"
    title, place, plain = LineKind.TITLE, LineKind.PLACE, LineKind.PLAIN
    kinds = [title, title, title, place, LineKind.REMOVED, LineKind.ADDED, plain, title]
    assert [line.kind for line in patch_lines(patch)] == kinds


@pytest.mark.anyio
async def test_only_visible_lines_of_a_long_patch_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw = LineView.render_line

    def noted(view: LineView, y: int) -> Strip:
        strip = draw(view, y)
        drawn.append(strip.text.rstrip())
        return strip

    monkeypatch.setattr(LineView, "render_line", noted)
    app = Reader()
    async with app.run_test(size=(60, 20)) as pilot:
        lines = patch_lines("@@ -1 +1 @@\n" + "".join(f"+line {number}\n" for number in range(20_000)))
        await app.push_screen(TextView("What turn 1 changed", lines))
        await pilot.pause()
        assert "+line 0" in drawn
        await pilot.press("end")
        await pilot.wait_for_scheduled_animations()
        assert "+line 19999" in drawn
        assert len(drawn) < 2000
