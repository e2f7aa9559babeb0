"""The screen itself: help, themes, sizes, colours, quitting."""

from collections.abc import AsyncIterator

import pytest
from textual import events

from betcode.tui.themes import LIGHT, PLAIN
from support.daemon.process import Daemon, running_daemon
from support.screens.screen import ShownScreen, open_screen

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with running_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


def colours(screen: ShownScreen) -> set[str]:
    """Every colour that would be written to the terminal."""
    filters = screen.app.get_line_filters()
    found: set[str] = set()
    for strip in screen.app.screen._compositor.render_strips():
        segments = list(strip)
        for each in filters:
            segments = each.apply(segments, screen.app.screen.background_colors[1])
        for segment in segments:
            if segment.style is not None:
                found |= {str(one.name) for one in (segment.style.color, segment.style.bgcolor) if one is not None}
    return found


async def test_f1_and_a_question_mark_show_all_keys_and_a_draft_may_contain_one(daemon: Daemon) -> None:
    async with open_screen(daemon, size=(40, 15)) as screen:
        await screen.shows("connected")
        await screen.press("?")
        await screen.shows("Keys", "Ctrl+Q")
        await screen.press("escape")
        await screen.hides("Ctrl+Q")
        await screen.press("f1")
        await screen.shows("Keys", "Ctrl+Q")
        await screen.press("escape")
        await screen.type("why?")
        await screen.shows("why?")


async def test_a_question_mark_in_a_burst_of_text_shows_no_help(daemon: Daemon) -> None:
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        for key in ("w", "h", "y", "question_mark"):  # faster than they are written
            screen.app.post_message(events.Key(key, "?" if key == "question_mark" else key))
        await screen.shows("why?")


async def test_a_theme_is_chosen_by_a_key_and_remembered(daemon: Daemon) -> None:
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        before = screen.app.theme
        await screen.press("f2")
        chosen = screen.app.theme
        assert chosen != before
        await screen.notes_say(f"Theme {chosen}")
    async with open_screen(daemon) as screen:
        assert screen.app.theme == chosen


async def test_without_colour_nothing_is_coloured(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        screen.app.theme = LIGHT
        await screen.pilot.pause()
        assert colours(screen) - {"default"}
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        assert screen.app.theme == PLAIN
        assert colours(screen) <= {"default"}


async def test_a_resized_screen_keeps_its_content(daemon: Daemon) -> None:
    async with open_screen(daemon, size=(130, 30)) as screen:
        await screen.shows("Sessions · Alt+1…9", "connected")
        for width in (40, 2, 130):  # the panel at the side leaves no column for a moment
            await screen.pilot.resize_terminal(width, 30)
            await screen.pilot.pause()
        await screen.type("a draft")
        await screen.pilot.resize_terminal(40, 15)
        await screen.hides("Sessions · Alt+1…9")
        await screen.shows("a draft", "connected")
        await screen.press("ctrl+t")
        await screen.shows("Sessions · Alt+1…9", "a draft")
        await screen.pilot.resize_terminal(130, 30)
        await screen.shows("a draft", "connected")


async def test_ctrl_c_clears_the_draft_and_twice_leaves(daemon: Daemon) -> None:
    async with open_screen(daemon) as screen:
        await screen.type("never mind")
        await screen.shows("never mind")
        await screen.press("ctrl+c")
        await screen.hides("never mind")
        await screen.press("ctrl+c")
        await screen.notes_say("Press Ctrl+C again to quit")
        await screen.press("ctrl+c")
        assert screen.app.return_value == 0


async def test_ctrl_d_leaves_an_empty_draft_alone(daemon: Daemon) -> None:
    async with open_screen(daemon) as screen:
        await screen.type("words")
        await screen.press("home", "ctrl+d")
        await screen.shows("ords")
        await screen.press("ctrl+c", "ctrl+d")
        assert screen.app.return_value == 0
