"""Keys that arrive together take effect in the order in which they were typed, on a real daemon."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from betcode.tui.composer.composer import Composer
from betcode.wording.prompts import send_answer
from support.daemon.process import Daemon
from support.patience import PATIENCE_S
from support.screens.keys import as_bytes, type_burst
from support.screens.prompt_cards import BASH, asking_daemon, asking_screen
from support.screens.screen import ShownScreen, open_screen

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with asking_daemon(tmp_path_factory.mktemp("key_order")) as running:
        yield running


def draft(screen: ShownScreen) -> str:
    return screen.app.screen.query_one(Composer).text


async def draft_becomes(screen: ShownScreen, text: str) -> None:
    await screen.comes_to(lambda _: draft(screen) == text, f"to have the draft {text!r}")


BURSTS = [
    (("one two", "ctrl+w", "three"), "one three"),
    (("x", "ctrl+a", "y"), "yx"),
    (("one two", "ctrl+u", "three"), "three"),
    (("one", "backspace", "backspace", "X"), "oX"),
    (("one", "left", "left", "X"), "oXne"),
    (("one", "home", "delete", "O"), "One"),
    (("a", "ctrl+j", "b", "up", "c"), "ac\nb"),
]


MESSAGES = [
    (("/sessionless haiku",), "/sessionless haiku"),
    (("say @nothing",), "say @nothing"),
    (("/qui", "backspace", "x y"), "/qux y"),
    (("/model haiku",), "/model haiku"),
]


async def test_a_burst_of_keys_edits_the_draft_as_slow_typing_does(daemon: Daemon) -> None:
    async with open_screen(daemon) as screen:
        await screen.shows("connected")
        for keys, wanted in BURSTS:
            type_burst(screen.app, as_bytes(*keys))
            await draft_becomes(screen, wanted)
            screen.app.screen.query_one(Composer).load_text("")


async def test_a_message_and_its_enter_in_one_burst_are_sent(daemon: Daemon) -> None:
    """A list that was open for an earlier letter takes no part in it."""
    async with open_screen(daemon, provider="claude") as screen:
        await screen.shows("connected")
        for keys, message in MESSAGES:
            type_burst(screen.app, as_bytes(*keys, "enter"))
            await screen.shows(f"> {message}")
            assert draft(screen) == ""


async def test_a_card_is_edited_in_one_burst_and_runs_the_typed_command(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH)
        await here.screen.shows("e edit")
        type_burst(here.screen.app, as_bytes("e", "ctrl+a", "ctrl+k", "echo edited by me > made.txt", "ctrl+s"))
        [answer] = await here.heard()
        assert answer["updatedInput"]["command"] == "echo edited by me > made.txt"


async def test_a_reason_is_typed_in_the_burst_that_opens_its_line(daemon: Daemon, tmp_path: Path) -> None:
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH)
        await here.screen.shows("d deny with reason")
        type_burst(here.screen.app, as_bytes("d", "nox", "backspace", "t now", "enter", "next"))
        [answer] = await here.heard()
        assert answer["message"].endswith("not now")
        await draft_becomes(here.screen, "next")


async def test_letters_behind_an_answer_that_takes_its_time_are_in_the_draft(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending, may_arrive = anyio.Event(), anyio.Event()

    async def give_slowly(*arguments: Any) -> None:
        sending.set()
        await may_arrive.wait()
        await send_answer(*arguments)

    monkeypatch.setattr("betcode.tui.pending_board.send_answer", give_slowly)
    async with asking_screen(daemon, tmp_path) as here:
        await here.ask(BASH)
        await here.screen.shows("d deny with reason")
        type_burst(here.screen.app, as_bytes("d", "not now", "enter", "next"))
        with anyio.fail_after(PATIENCE_S):
            await sending.wait()
        assert draft(here.screen) == "", "the letters wait for the answer"
        may_arrive.set()
        await here.heard()
        await draft_becomes(here.screen, "next")


async def test_menus_and_other_sessions_take_the_rest_of_a_burst(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await screen.shows("connected")
        first = screen.app.session_id
        type_burst(screen.app, as_bytes("draft", "ctrl+x", "r", "ctrl+u", "its name", "enter", " continued"))
        await screen.notes_say("Renamed to its name")
        await draft_becomes(screen, "draft continued")
        type_burst(screen.app, as_bytes("ctrl+n", "for the new one", "enter"))
        await screen.shows("> for the new one")
        assert screen.app.session_id != first
        type_burst(screen.app, as_bytes("ctrl+s", "its name", "enter", " again"))
        await screen.comes_to(lambda _: screen.app.session_id == first, "to open the session")
        await draft_becomes(screen, "draft continued again")


async def test_escape_before_enter_does_not_cancel_the_sent_message(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await screen.shows("connected")
        for number in range(5):
            type_burst(screen.app, as_bytes(f"say number {number}", "escape", "enter"))
            await screen.shows(f"> say number {number}")
            with anyio.fail_after(PATIENCE_S):
                while len(ends := await turn_ends(screen)) <= number:
                    await screen.pilot.pause(0.02)
            assert "cancelled" not in ends


async def turn_ends(screen: ShownScreen) -> list[str]:
    page = await screen.client.read_events(screen.app.session_id)
    return [each.turn_complete.stop_reason for each in page.events if each.WhichOneof("event") == "turn_complete"]
