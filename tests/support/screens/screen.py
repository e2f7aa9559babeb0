"""The screen, headless, on a real daemon: what stands on it as text, and keys pressed as a person would."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from textual.pilot import Pilot

from betcode.client import Client, ClientIdentity, NewConversation, open_client
from betcode.client.connection import ALIVE_S
from betcode.tui import BetcodeApp, StartOptions
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon
from support.patience import PATIENCE_S

QUICK_LADDER_MS = (20, 50)


class ShownScreen:
    """An open screen and its client."""

    def __init__(self, app: BetcodeApp, pilot: Pilot[int], client: Client) -> None:
        self.app = app
        self.pilot = pilot
        self.client = client

    @property
    def lines(self) -> list[str]:
        """What stands on the screen now, without the spaces at the ends of lines."""
        # Textual has no public way to its text; a screenshot is a picture.
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def notes(self) -> list[str]:
        """What the screen told in passing, the oldest first; a note would cover what a test looks at."""
        return [note.message for note in self.app._notifications]

    async def notes_say(self, words: str) -> None:
        """Wait until one of them has these words in it."""
        await self.comes_to(lambda _: any(words in note for note in self.notes), f"to note {words!r}")

    async def shows(self, *wanted: str) -> str:
        """Wait, within a bound, until all of this stands there; the whole text."""
        return await self.comes_to(lambda text: all(words in text for words in wanted), f"to show {wanted}")

    async def hides(self, *unwanted: str) -> str:
        """Wait until nothing of this stands there."""
        return await self.comes_to(lambda text: not any(words in text for words in unwanted), f"to hide {unwanted}")

    async def comes_to(self, check: Callable[[str], bool], what: str) -> str:
        with anyio.move_on_after(PATIENCE_S):
            while not check(self.text):
                await self.pilot.pause(0.01)
            return self.text
        raise AssertionError(f"the screen did not come {what}:\n{self.text}")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        """Letter by letter, as keys."""
        await self.pilot.press(*(_KEYS.get(letter, letter) for letter in text))


_KEYS = {" ": "space", "\n": "ctrl+j", "\t": "tab"}


@asynccontextmanager
async def open_screen(
    daemon: Daemon,
    session_id: str = "",
    *,
    provider: str = "demo",
    size: tuple[int, int] = (80, 24),
    alive_s: float = ALIVE_S,
) -> AsyncIterator[ShownScreen]:
    """A screen on this session, or on a new one of the demo agent."""

    async def start(client: Client) -> str:
        return await client.start_session(NewConversation(str(daemon.work), provider=provider))

    async def choose(client: Client) -> v1.SessionSummary | None:
        wanted = session_id or await start(client)
        return next(one for one in (await client.list_sessions()).sessions if one.id == wanted)

    identity = ClientIdentity(client_type="tui", client_name="a test's screen")
    async with open_client(daemon.paths, identity, ladder_ms=QUICK_LADDER_MS, alive_s=alive_s) as client:
        app = BetcodeApp(client, StartOptions(choose, start), daemon.paths.state_dir / "screen")
        async with app.run_test(size=size) as pilot:
            screen = ShownScreen(app, pilot, client)
            await screen.comes_to(lambda _: bool(app.session_id), "to show a session")
            yield screen
