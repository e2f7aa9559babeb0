"""Many sessions on one screen: listed, named, forked, exported, found, switched, closed and deleted."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual.widgets import Input

from betcode.client import Client, NewConversation
from betcode.tui.view.conversation_view import ConversationView
from support.daemon.process import Daemon, obedient_daemon
from support.screens.screen import ShownScreen, open_screen

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


async def one_turn(screen: ShownScreen, text: str, answer: str) -> None:
    await screen.type(text)
    await screen.press("enter")
    await screen.shows(answer, "idle")


async def another_session(client: Client, daemon: Daemon, name: str) -> str:
    session_id = await client.start_session(NewConversation(str(daemon.work), provider="claude"))
    await client.rename(session_id, name)
    return session_id


async def test_a_session_is_renamed_forked_and_exported_from_its_menu(daemon: Daemon, tmp_path: Path) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await one_turn(screen, "say tapirs swim", "tapirs swim")
        first = screen.app.session_id
        await screen.press("ctrl+x")
        await screen.shows("rename", "copy the id")
        await screen.press("r")
        await screen.shows("Name of the session")
        await screen.type("zoo")
        await screen.press("enter")
        await screen.comes_to(lambda text: text.split("\n")[0].strip().startswith("zoo"), "to have the name at its top")

        await screen.press("ctrl+x", "x")
        await screen.shows("Export to file")
        file = tmp_path / "zoo.md"
        screen.app.screen.query_one(Input).value = str(file)
        await screen.press("enter")
        await screen.notes_say("Written to")
        assert "tapirs swim" in file.read_text()

        await screen.press("ctrl+x", "f")
        await screen.notes_say("Forked from zoo")
        await screen.shows("zoo (fork)", "tapirs swim")
        assert screen.app.session_id != first


async def test_the_list_finds_a_session_as_one_types_and_opens_it(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await another_session(screen.client, daemon, "okapi")
        await another_session(screen.client, daemon, "quagga")
        await screen.press("ctrl+s")
        await screen.shows("okapi", "quagga")
        await screen.type("okap")
        await screen.hides("quagga")
        await screen.press("enter")
        await screen.hides("Sessions ·")
        await screen.comes_to(lambda text: "okapi" in text.split("\n")[0], "to show the okapi")


async def test_switching_the_session_by_its_number_keeps_the_draft(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude", size=(130, 30)) as screen:
        first = screen.app.session_id
        other = await another_session(screen.client, daemon, "zebra")
        await screen.type("half a thou")
        screen.app.directory.refresh()
        await screen.comes_to(lambda _: screen.app.directory.numbers.of(other) > 0, "to give the new one a number")
        numbers = screen.app.directory.numbers
        await screen.press(f"alt+{numbers.of(other)}")
        await screen.comes_to(lambda text: "zebra" in text.split("\n")[0], "to show the other")
        assert "half a thou" not in screen.text
        await screen.press(f"alt+{numbers.of(first)}")
        await screen.shows("half a thou")
        await screen.type("ght")
        await screen.shows("half a thought")
        await screen.press("alt+right")
        await screen.comes_to(lambda _: screen.app.session_id != first, "to show the one beside")


async def test_sessions_that_were_shown_long_ago_are_let_go(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        for number in range(7):
            await screen.app.open_session(await another_session(screen.client, daemon, f"number {number}"))
            await screen.pilot.pause()
        watchers = screen.app.__dict__["__watchers"]["theme"]  # with whom Textual would keep all that belongs to them
        assert all(each.is_attached for each, _ in watchers)


async def test_search_opens_the_session_at_the_hit(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await one_turn(screen, "say wombats dig", "wombats dig")
        found = screen.app.session_id
        async with open_screen(daemon, await another_session(screen.client, daemon, "elsewhere")) as other:
            await other.shows("connected")
            await other.press("ctrl+f")
            await other.type("womba")
            await other.shows("found", "wombats dig")
            await other.press("x", "enter")
            await other.shows("No matches")  # and not opened what stood there for other words
            await other.press("backspace", "enter")
            await other.comes_to(lambda _: other.app.session_id == found, "to open what was found")
            await other.shows("wombats dig")


async def test_deleting_asks_first_and_only_yes_is_yes(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        doomed = await another_session(screen.client, daemon, "dodo")
        screen.app.directory.refresh()
        await screen.press("ctrl+s")
        await screen.type("dodo")
        await screen.comes_to(lambda text: text.count("dodo") > 1, "to find it")
        await screen.press("tab", "d")
        await screen.shows("Delete dodo and its whole history?")
        await screen.press("enter")
        await screen.hides("whole history")
        assert await screen.app.directory.find(doomed) is not None
        await screen.press("d")
        await screen.shows("Delete dodo and its whole history?")
        await screen.press("y")
        await screen.notes_say("are deleted")
        assert await screen.app.directory.find(doomed) is None


async def test_a_session_closed_elsewhere_shows_it_and_accepts_no_messages(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await screen.shows("connected")
        await screen.client.close(screen.app.session_id)
        await screen.shows("This session is closed and accepts no messages", "Ctrl+N", "the session has ended")
        await screen.type("lost")
        assert "lost" not in screen.text
        before = screen.app.session_id
        await screen.press("ctrl+n")
        await screen.comes_to(lambda _: screen.app.session_id != before, "to begin another")
        await screen.shows("connected · idle")


async def test_a_session_deleted_elsewhere_shows_it(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await screen.shows("connected")
        await screen.client.delete(screen.app.session_id)
        await screen.shows("The session was deleted with its history. Ctrl+N: a new session")


async def test_a_turn_is_stopped_by_one_key_and_again_with_more_force(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await screen.type("deaf")
        await screen.press("ctrl+j")
        await screen.type("wait never")
        await screen.press("enter")
        await screen.shows("working")
        await screen.press("escape")
        await screen.shows("interrupting, Esc forces")
        await screen.press("escape")
        await screen.notes_say("Interrupting again")


async def test_a_session_is_forked_from_the_turn_in_view(daemon: Daemon) -> None:
    async with open_screen(daemon, provider="claude") as screen:
        await one_turn(screen, "say lemurs leap", "lemurs leap")
        await one_turn(screen, "say sloths sleep", "sloths sleep")
        first = screen.app.session_id
        screen.app.screen.query_one(ConversationView).focus()
        await screen.press("home", "up", "up", "up", "up", "up", "up")
        await screen.press("ctrl+x", "h")
        await screen.comes_to(lambda _: screen.app.session_id != first, "to show the fork")
        await screen.shows("lemurs leap", "connected")
        assert "> say sloths sleep" not in screen.text
