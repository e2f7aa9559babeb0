"""The screen as a program: chooses a session and shows it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from textual.app import App

from betcode.client import Client, ClientIdentity, open_client
from betcode.config.places import Places
from betcode.tui.session_screen import SessionScreen
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class Opening:
    """What is shown first, and how another session is begun; which arguments say so is no matter of the screen."""

    choose: Callable[[Client], Awaitable[v1.SessionSummary | None]]  # None: the person is asked
    start: Callable[[Client], Awaitable[str]]  # a new session here


class BetcodeApp(App[int]):
    """One person at one terminal; leaving ends no turn."""

    CSS_PATH = "screen.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "betcode"

    def __init__(self, client: Client, opening: Opening, kept_in: Path | None = None) -> None:
        super().__init__()
        self.client = client
        self.kept_in = kept_in  # where drafts and the like are kept; None: nowhere
        self._opening = opening

    async def on_mount(self) -> None:
        summary = await self._opening.choose(self.client)
        assert summary is not None
        await self.push_screen(SessionScreen(self.client, summary))


async def run_screen(places: Places, identity: ClientIdentity, opening: Opening) -> int:
    """Until the person leaves; the exit code."""
    async with open_client(places, identity) as client:
        app = BetcodeApp(client, opening, places.state_dir / "screen")
        return await app.run_async() or 0
