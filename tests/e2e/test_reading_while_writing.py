"""Reading the conversation while a draft is written."""

from pathlib import Path

import pytest
from textual import events

from support.daemon.process import running_daemon
from support.screens.screen import open_screen

pytestmark = pytest.mark.anyio


async def test_keys_that_scroll_do_so_from_the_draft(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, open_screen(daemon, size=(60, 16)) as screen:
        await screen.shows("connected · idle")
        await screen.type("hello\nagain")
        await screen.press("enter")
        await screen.shows("begin a new session")
        await screen.hides("> hello")
        await screen.type("draft")
        await screen.press("ctrl+home")
        await screen.shows("> hello", "draft")
        await screen.press("pagedown")
        await screen.hides("> hello")
        await screen.press("ctrl+end")
        await screen.shows("begin a new session", "draft")
        await screen.press("ctrl+home")
        await screen.shows("> hello")
        await screen.press("enter")  # who sends something wants to see it
        await screen.shows("> draft")


async def test_typing_returns_from_the_conversation_to_the_draft(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, open_screen(daemon) as screen:
        await screen.shows("connected · idle")
        await screen.press("tab")
        await screen.shows("Esc: input")
        await screen.press("escape")
        await screen.hides("Esc: input")
        await screen.press("tab")
        await screen.shows("Esc: input")
        for key in "hoy":  # faster than one is heeded
            screen.app.post_message(events.Key(key, key))
        await screen.shows("│hoy", "F1: keys")
        await screen.press("ctrl+c", "tab")
        await screen.shows("Esc: input")
        screen.app.post_message(events.Paste("copied elsewhere"))
        await screen.shows("│copied elsewhere")
