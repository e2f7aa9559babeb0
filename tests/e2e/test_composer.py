"""Writing on the screen, with a real daemon: lines, completion, pastes, and the sent messages."""

from collections.abc import AsyncIterator

import pytest
from textual import events

from betcode.client import Client
from betcode.tui.composer.composer import Composer
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, running_daemon
from support.files import JPEG
from support.screens.screen import ShownScreen, open_screen

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with running_daemon(tmp_path_factory.mktemp("composer")) as running:
        yield running


def written(screen: ShownScreen) -> str:
    return screen.app.screen.query_one(Composer).text


async def write(screen: ShownScreen, text: str) -> None:
    """In place of all that stands there, and send it."""
    screen.app.screen.query_one(Composer).load_text(text)
    screen.app.screen.query_one(Composer).move_cursor((0, len(text)))
    await screen.press("escape", "enter")


async def paste(screen: ShownScreen, text: str) -> None:
    screen.app.post_message(events.Paste(text))
    await screen.pilot.pause()


async def sent(screen: ShownScreen) -> v1.UserInput:
    """The newest message that the daemon has."""
    page = await screen.client.read_events(screen.app.session_id)
    return [event.user_input for event in page.events if event.WhichOneof("event") == "user_input"][-1]


async def test_every_new_line_key_works_and_sent_messages_are_in_the_history(daemon: Daemon) -> None:
    whole = "one\n2\n3\n4\n5"
    async with open_screen(daemon, size=(40, 15)) as screen:
        await screen.shows("connected")
        await screen.press(*"one", "ctrl+j", "2", "shift+enter", "3", "alt+enter", "4", "backslash", "enter", "5")
        assert written(screen) == whole
        assert sum("│" in line for line in screen.lines) < 8  # grows, and leaves room for the conversation
        await screen.press("enter")
        await screen.shows("> one")
        assert written(screen) == ""
        await screen.press("x", "up")
        assert written(screen) == whole
        await screen.press("down", "down", "down", "down", "down")
        assert written(screen) == "x"
        await screen.press("backspace", "3", "ctrl+r")
        await screen.shows("▸ one 2 3")
        await screen.press("escape")
        assert written(screen) == "3"
        await screen.press("ctrl+r", "enter")
        assert written(screen) == whole
        screen.app.post_message(events.Key("alt+z", "z"))  # as terminals send it
        await screen.comes_to(lambda _: written(screen) != whole, "to undo")
        assert written(screen) == "3"


async def test_files_and_commands_are_completed_by_keys_and_mouse(daemon: Daemon) -> None:
    (daemon.work / "read me.md").write_text("x")
    (daemon.work / "me\x1b]0;x\x07.md").write_text("x")
    async with open_screen(daemon, size=(40, 15)) as screen:
        await screen.shows("connected")
        await screen.press(*"@me")
        await screen.shows("▸ read me.md")
        assert "]0;x" not in screen.text
        await screen.press("tab")
        assert written(screen) == '@"read me.md" '
        await screen.press("ctrl+u", *"/he")
        await screen.shows("▸ /help")
        await screen.press("escape")
        await screen.hides("▸ /help")
        await screen.press("ctrl+u", "@")
        await screen.shows("▸ read me.md")
        await screen.pilot.click("#completions", offset=(3, 0))
        assert written(screen) == '@"read me.md" '
        await write(screen, "/rename its name")
        await screen.notes_say("Renamed to its name")
        await write(screen, "/nonsense")
        await screen.shows("> /nonsense", "idle")
        await screen.press(*"/to")
        await screen.shows("/tour", "/tool")  # which the agent has told of meanwhile


async def test_long_pastes_and_dropped_files_go_with_the_message(daemon: Daemon) -> None:
    (daemon.work / "a photo.png").write_bytes(JPEG)
    (daemon.work / "x.bin").write_bytes(b"\0")
    async with open_screen(daemon, size=(40, 15)) as screen:
        await screen.shows("connected")
        for number in (1, 2, 3):
            await paste(screen, f"{number}\r" * 11)
        await screen.shows("[pasted text 2: 11 lines", "[pasted text 3: 11 lines")
        await screen.press("backspace")
        await screen.hides("pasted text 3")
        await screen.pilot.click("#attached", offset=(3, 0))
        await screen.hides("pasted text 1")
        assert written(screen) == "1\n" * 11
        await paste(screen, f"'{daemon.work}/a photo.png' ")
        await screen.shows("[a photo.png: ")
        await paste(screen, "x" * 6_000_000)
        await screen.notes_say("the limit is 5.0 MB")
        await write(screen, "/attach x.bin")
        await screen.notes_say("x.bin is not an image, a PDF or text")
        await screen.press("ctrl+v")
        await screen.notes_say("clipboard")
        await paste(screen, "\x1b[2Jgone\x07\u202e")
        await screen.shows("␛[2Jgone␇")
        await screen.press("enter")
        await screen.hides("[pasted", "[a photo")
        await screen.shows("> ␛[2Jgone␇")
        said = await sent(screen)
        assert [(one.filename, one.mime_type) for one in said.stored_attachments] == [
            ("pasted-text-2.txt", "text/plain"),
            ("a photo.png", "image/jpeg"),
        ]


async def test_files_of_a_remote_daemon_are_not_completed_from_this_machine(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    (daemon.work / "there.md").write_text("x")
    monkeypatch.setattr(Client, "is_local", False)
    async with open_screen(daemon) as screen:
        await write(screen, "/attach there.md")
        await screen.notes_say("there.md is missing")
