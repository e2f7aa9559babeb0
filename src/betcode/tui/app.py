"""The screen as a program: chooses a session, shows it, and changes to others."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType
from textual.filter import LineFilter, NoColor

from betcode.client import Client, ClientError
from betcode.tui import keys
from betcode.tui.pending_board import PendingBoard
from betcode.tui.session_screen import SessionScreen
from betcode.tui.themes import PLAIN, ThemeMemory, register_themes
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import clean, one_line

_NOTES_EVERY_S = 0.5
_TITLE_WIDTH = 60
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def _nothing() -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Opening:
    """What is shown first, and how another session is begun; which arguments say so is no matter of the screen."""

    choose: Callable[[Client], Awaitable[v1.SessionSummary | None]]  # None: the person is asked
    start: Callable[[Client], Awaitable[str]]  # a new session here
    notes: Callable[[], Sequence[str]] = _nothing  # what there was to say meanwhile; each is given once
    has_mouse: bool = True


@dataclass(frozen=True, slots=True)
class Parting:
    """How the screen was left: the exit code, and the session that was shown last."""

    code: int
    session_id: str


class BetcodeApp(App[int]):
    """One person at one terminal; leaving ends no turn."""

    CSS_PATH = "screen.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "betcode"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as Textual declares it
        (0, "-narrow"),
        (60, "-normal"),
        (120, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings(keys.Place.APP)

    def __init__(self, client: Client, opening: Opening, kept_in: Path | None = None) -> None:
        super().__init__()
        self.client = client
        self.board = PendingBoard(client)  # what waits for a person, in all sessions
        self.kept_in = kept_in  # where drafts and the like are kept; None: nowhere
        self.session_id = ""  # of the session that is shown, or was last
        self.failure: Exception | None = None
        self._opening = opening
        self._themes = ThemeMemory(kept_in)
        register_themes(self)
        self.theme = PLAIN if self.no_color else self._themes.last(self.available_themes)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without colour there are none at all; what stands out is bold or turned around."""
        return [NoColor()] if self.theme == PLAIN else super().get_line_filters()

    def on_mount(self) -> None:
        self.set_interval(_NOTES_EVERY_S, self._tell_notes)
        self.run_worker(self._open_first(), exit_on_error=False)
        self.run_worker(self.board.run(), exit_on_error=False)

    async def _open_first(self) -> None:
        try:
            summary = await self._opening.choose(self.client)
            assert summary is not None
            await self.show_summary(summary)
        except Exception as error:  # noqa: BLE001 - the top of a task; whoever opened the screen says why it ended
            self._end_with(error)

    async def show_summary(self, summary: v1.SessionSummary) -> None:
        """Show this session."""
        screen = SessionScreen(self.client, summary, self.board)
        await self.push_screen(screen)
        self.session_id = summary.id
        self._say_title(summary)

    def _say_title(self, summary: v1.SessionSummary) -> None:
        name = one_line(summary.name or summary.last_message_preview or Path(summary.working_directory).name, 40)
        self.title = one_line(f"betcode · {name}", _TITLE_WIDTH)

    def action_leave(self) -> None:
        self.exit(0)

    def action_next_theme(self) -> None:
        names = sorted(self.available_themes, key=lambda name: (not name.startswith("betcode-"), name))
        self.theme = names[(names.index(self.theme) + 1) % len(names)]
        self._themes.keep(self.theme)

    def _tell_notes(self) -> None:
        for note in self._opening.notes():
            self.notify(clean(note), markup=False)

    def say_error(self, error: ClientError) -> None:
        """Something that was asked of the daemon was refused, or did not reach it."""
        self.notify(clean(error.message), severity="error", markup=False)

    def _end_with(self, error: Exception) -> None:
        self.failure = error
        self.exit()

    def _handle_exception(self, error: Exception) -> None:
        """What nobody expected ends the screen; whoever opened it says so in a sentence."""
        if self.is_headless:
            super()._handle_exception(error)  # a test sees it whole
        else:
            self._end_with(error)


async def run_screen(client: Client, opening: Opening, kept_in: Path) -> Parting:
    """Until the person leaves; the terminal is as it was before, also when it ends with an error."""
    app = BetcodeApp(client, opening, kept_in)
    with _signals_leave(app):
        code = await app.run_async(mouse=opening.has_mouse)
    if app.failure is not None:
        raise app.failure
    return Parting(code or 0, app.session_id)


@contextmanager
def _signals_leave(app: BetcodeApp) -> Iterator[None]:
    """A signal that ends the process gives the terminal back first."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, app.exit, 128 + number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
