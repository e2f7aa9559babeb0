"""Whole screens at 40, 80 and 200 columns, compared with those under screens/; times are made equal."""

import re
from collections.abc import AsyncIterator

import pytest

from betcode.client import ClientIdentity, NewConversation, open_client
from betcode.tui.widgets.help import help_lines
from support.daemon.process import Daemon, obedient_daemon
from support.providers.claude_world import obedient_talk
from support.screens.golden import matches_golden
from support.screens.screen import ShownScreen, open_screen

pytestmark = pytest.mark.anyio
SIZES = {40: (40, 15), 80: (80, 24), 200: (200, 50)}


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
async def session_id(daemon: Daemon) -> str:
    """A session of one turn, and two others in the list."""
    async with open_client(daemon.paths, ClientIdentity("somebody")) as client:
        for name in ("Rewrite the parser", "日本語の名前"):
            made = await client.start_session(NewConversation(str(daemon.work), provider="claude"))
            await client.rename(made, name)
        talk = await obedient_talk(daemon, client)
        await talk.turn("say the tapir swims")
        await client.rename(talk.session_id, "Tapirs")
        return talk.session_id


def settled(screen: ShownScreen) -> str:
    """The text without what depends on the clock."""
    text = re.sub(r"\d+\.\d s,", "0.0 s,", screen.text)
    return re.sub(r"(?<=[●○?] |  )(?:now|\d+[sm]|\d+ (?:s|min) ago) +", lambda ago: "now".ljust(len(ago[0])), text)


@pytest.mark.parametrize("width", SIZES)
async def test_a_session_the_list_of_all_and_a_menu(daemon: Daemon, session_id: str, width: int) -> None:
    async with open_screen(daemon, session_id, size=SIZES[width]) as screen:
        await screen.shows("connected", "the tapir swims", "──", "Tapirs")
        if width >= 120:
            await screen.shows("Rewrite the parser")
        await screen.type("and then?")
        await screen.shows("and then?")
        session = settled(screen)
        await screen.press("ctrl+c")
        await screen.hides("and then?")

        await screen.press("ctrl+s")
        await screen.shows("Rewrite the parser", "Tapirs", "Tab: more keys")
        sessions = settled(screen)
        await screen.press("escape")
        await screen.hides("Tab: more keys")
        await screen.shows("the tapir swims")

        await screen.press("ctrl+x")
        await screen.shows("delete with its history", "╰─")
        await screen.pilot.pause()  # the session below is drawn after what stands above it
        matches_golden(f"session-{width}", session)
        matches_golden(f"sessions-{width}", sessions)
        matches_golden(f"menu-{width}", settled(screen))


def test_the_help() -> None:
    matches_golden("help-40", "\n".join(line.rstrip() for line, _ in help_lines()))
