"""Writing on the screen, with a real daemon."""

from collections.abc import AsyncIterator

import pytest
from textual import events

from betcode.tui.composer.composer import Composer
from support.daemon import Daemon, running_daemon
from support.files import JPEG
from support.screen import ShownScreen, open_screen

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with running_daemon(tmp_path_factory.mktemp("composer")) as running:
        yield running


def written(screen: ShownScreen) -> str:
    return screen.app.screen.query_one(Composer).text


async def paste(screen: ShownScreen, text: str) -> None:
    screen.app.post_message(events.Paste(text))
    await screen.pilot.pause()


async def test_lines_are_begun_in_every_way_and_sent_with_enter(daemon: Daemon) -> None:
    async with open_screen(daemon, size=(40, 15)) as screen:
        await screen.shows("connected")
        await screen.type("one\ntwo")
        await screen.press("shift+enter", *"three", "alt+enter", *"four", "backslash", "enter", *"five")
        assert written(screen) == "one\ntwo\nthree\nfour\nfive"
        await screen.press("enter")
        await screen.shows("> one", "five")
        assert written(screen) == ""
        await screen.press("up")
        assert written(screen) == "one\ntwo\nthree\nfour\nfive"
        await screen.press("down")


async def test_files_and_commands_are_completed_and_pastes_attached(daemon: Daemon) -> None:
    (daemon.work / "read me.md").write_text("x")
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        await screen.type("see @rea")
        await screen.shows("read me.md")
        await screen.press("tab")
        assert written(screen) == 'see @"read me.md" '
        await screen.press("ctrl+u")
        await screen.type("/")
        await screen.shows("/help")
        await screen.press("escape")
        await screen.hides("/help")
        await screen.press("backspace")
        await paste(screen, "x\r" * 30)
        await screen.shows("pasted text 1: 30 lines")
        (daemon.work / "p q.png").write_bytes(JPEG)
        await paste(screen, f"'{daemon.work}/p q.png' ")
        await screen.shows("p q.png")
        await screen.press("alt+p")
        await screen.press("ctrl+v")
        await screen.notes_say("no program")
