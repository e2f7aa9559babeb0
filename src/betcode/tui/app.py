"""The Textual application: selects a session, shows it, and switches between sessions."""

import asyncio
import math
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import ClassVar

import anyio
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.filter import LineFilter, NoColor
from textual.screen import ModalScreen

from betcode.client import Client, ClientError
from betcode.tui import keys
from betcode.tui.attention import Attention, attend
from betcode.tui.keyboard.sequencer import SequencedApp
from betcode.tui.pending_board import PendingBoard
from betcode.tui.screen_cache import ScreenCache
from betcode.tui.session_screen import SessionScreen
from betcode.tui.sessions.directory import SessionDirectory
from betcode.tui.tasks import TaskFailed, begin
from betcode.tui.themes import PLAIN, ThemeMemory, register_themes
from betcode.tui.trust.project_trust import ProjectTrust
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import clean, one_line

_NOTES_EVERY_S = 0.5
_TITLE_WIDTH = 60
_LEAVING_S = 1.0
_HUNG_UP_S = 2.0  # time to save drafts after the terminal has hung up
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def _nothing() -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class StartOptions:
    """The first session to show, and how to start another. `cli` derives both from its arguments."""

    choose: Callable[[Client], Awaitable[v1.SessionSummary | None]]  # None: ask the person
    start: Callable[[Client], Awaitable[str]]  # starts a new session in the current directory
    notes: Callable[[], Sequence[str]] = _nothing  # messages since the last call; each is returned once
    has_mouse: bool = True
    machine: str = ""  # the daemon's machine, as people call it
    here: str = ""  # sessions of this directory are listed first


@dataclass(frozen=True, slots=True)
class ScreenExit:
    """The result of the screen: its exit code, and the session that was shown last."""

    code: int
    session_id: str


class BetcodeApp(SequencedApp[int]):
    """One person at one terminal; quitting ends no turn."""

    CSS_PATH = "screen.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "betcode"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as Textual declares it
        (0, "-narrow"),
        (60, "-normal"),
        (120, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]  # noqa: RUF012 - likewise
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings(keys.KeyContext.APP)

    def __init__(self, client: Client, opening: StartOptions, data_dir: Path | None = None) -> None:
        super().__init__()
        self.client = client
        self.board = PendingBoard(client)  # all prompts that wait for a person
        self.data_dir = data_dir  # the directory for drafts and history; None: store nothing
        self.session_id = ""  # the session that is shown, or was shown last
        self.failure: Exception | None = None
        self.directory = SessionDirectory(client)
        self._opening = opening
        self._screens = ScreenCache()
        self._trust = ProjectTrust(self)
        self._start_hold = ExitStack()
        self._start_hold.enter_context(self.input.hold(math.inf))  # until there is a widget to type in
        self._installed = count()
        self._attention: Attention | None = None
        self._themes = ThemeMemory(data_dir)
        register_themes(self)
        self.theme = PLAIN if self.no_color else self._themes.last(self.available_themes)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without colour, remove all colours; emphasis is bold or reverse."""
        return [NoColor()] if self.theme == PLAIN else super().get_line_filters()

    def on_mount(self) -> None:
        self.set_interval(_NOTES_EVERY_S, self._show_notes)
        begin(self, self.directory.run)
        begin(self, self._open_first)
        begin(self, self.board.run)
        self._attention = attend(self, self.board, self._sees, os.environ)

    async def on_exit_app(self) -> None:
        """Deliver an answer that was given just before the exit, if that is possible at once."""
        with anyio.move_on_after(_LEAVING_S):
            await self.board.settled()
        if self._attention is not None:
            self._attention.end()

    def _sees(self, session_id: str) -> bool:
        """Whether the person sees the prompts of this session now."""
        screen = self.screen
        is_shown = screen.session_id == session_id if isinstance(screen, SessionScreen) else screen.id == "inbox"
        return self.app_focus and is_shown

    async def _open_first(self) -> None:
        try:
            summary = await self._opening.choose(self.client)
            if summary is not None:
                await self._show(SessionScreen(self.client, summary, self.board))
            else:
                await self._pick()
        except Exception as error:  # noqa: BLE001 - the top of a task; whoever opened the screen says why it ended
            self._end_with(error)
        self._start_hold.close()

    async def open_session(self, session_id: str, sequence: int = 0) -> None:
        """Show this session, at the given event if there is one; a recently shown session keeps its scroll position."""
        with self.input.hold():  # later input belongs to that session
            await self._open_session(session_id, sequence)

    async def _open_session(self, session_id: str, sequence: int) -> None:
        try:
            screen = self._screens.get(session_id)
            if screen is None:
                summary = await self.directory.find(session_id)
                if summary is None:
                    self.notify("This session no longer exists", severity="warning", markup=False)
                    return
                screen = SessionScreen(self.client, summary, self.board)
        except ClientError as error:
            self.show_error(error)
            return
        await self._show(screen)
        if sequence:
            screen.jump_to(sequence)

    async def _show(self, screen: SessionScreen) -> None:
        while isinstance(self.screen, ModalScreen):
            await self.pop_screen()
        is_first = not isinstance(self.screen, SessionScreen)
        if not self.is_screen_installed(screen):
            self.install_screen(screen, f"session-{next(self._installed)}")
        self.directory.numbers.add(screen.session_id)
        await (self.push_screen(screen) if is_first else self.switch_screen(screen))
        self.session_id = screen.session_id
        for old in self._screens.add(screen):
            self.uninstall_screen(old)
            await old.remove()
            self._release_closed_screens()
        await self._trust.ask(screen.session_id)

    def _release_closed_screens(self) -> None:
        """Release widgets of closed screens: Textual keeps every watcher of the theme until the theme changes."""
        for watchers in self.__dict__.get("__watchers", {}).values():
            watchers[:] = [each for each in watchers if each[0].is_attached]

    def show_name(self, name: str) -> None:
        """Show the session's name in the terminal's title."""
        self.title = one_line(f"betcode · {name}", _TITLE_WIDTH)  # the header's writer watches it

    @property
    def machine(self) -> str:
        """The daemon's machine, as text."""
        return self._opening.machine

    def waiting_elsewhere(self, session_id: str) -> int:
        """Return the number of open prompts in other sessions."""
        return sum(one.session_id != session_id for one in self.board.all)

    async def _pick(self) -> None:
        """Ask which session to open; no choice quits."""

        from betcode.tui.sessions.list import SessionList

        def picked(session_id: str | None) -> None:
            if session_id is None:
                self.exit(0)
            else:
                self._list_closed(session_id)

        screen = SessionList(self.directory, "", self._do, title="Choose a session", here=self._opening.here)
        await self.push_screen(screen, picked)

    # ------------------------------------------------------------ actions of keys

    def action_leave(self) -> None:
        self.exit(0)

    def action_help(self) -> None:
        from betcode.tui.widgets.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())

    def action_sessions(self) -> None:
        from betcode.tui.cards.input_editor import InputEditor
        from betcode.tui.sessions.list import SessionList

        if isinstance(self.focused, InputEditor):
            raise SkipAction  # in that widget the key sends
        self.push_screen(SessionList(self.directory, self.session_id, self._do), self._list_closed)

    def _list_closed(self, session_id: str | None) -> None:
        if session_id == "":
            self.action_new_session()
        elif session_id is not None:
            begin(self, self.open_session, session_id)

    def action_inbox(self) -> None:
        from betcode.tui.sessions.inbox import Inbox

        def chosen(session_id: str | None) -> None:
            if session_id:
                begin(self, self.open_session, session_id)

        if not isinstance(self.screen, ModalScreen):
            self.push_screen(Inbox(self.board), chosen)

    def action_search(self) -> None:
        from betcode.tui.sessions.search import Hit, SearchScreen

        def found(hit: Hit | None) -> None:
            if hit is not None:
                begin(self, self.open_session, *hit)

        self.push_screen(SearchScreen(self.client), found)

    def action_new_session(self) -> None:
        begin(self, self._start)

    async def _start(self) -> None:
        with self.input.hold():
            try:
                session_id = await self._opening.start(self.client)
            except Exception as error:  # noqa: BLE001 - what was asked for on the command line may be wrong in many ways
                self.notify(clean(str(error)), severity="error", markup=False)
            else:
                await self.open_session(session_id)
                self.directory.refresh()

    def do_here(self, name: str, argument: str = "") -> None:
        """Run a typed command on the session that is shown."""
        if isinstance(shown := self.screen, SessionScreen):
            self._do(name, self.directory.known(shown.session_id) or shown.summary, shown.turn_in_view, argument)

    def action_menu(self) -> None:
        from betcode.tui.sessions.menu import ACTION_OF, session_menu

        shown = self.screen
        if not isinstance(shown, SessionScreen):
            return
        one = self.directory.known(shown.session_id) or shown.summary

        def chosen(key: str | None) -> None:
            if key is not None:
                self._do(ACTION_OF[key], one, shown.turn_in_view)

        self.push_screen(session_menu(one, shown.can), chosen)

    def _do(self, name: str, one: v1.SessionSummary, at: int = 0, argument: str = "") -> None:
        from betcode.tui.sessions.session_actions import SessionActions

        def opened(session_id: str) -> None:
            begin(self, self.open_session, session_id)

        actions = SessionActions(self, self.client, self.directory, opened)
        begin(self, actions.do, name, one, at, argument)

    def action_numbered(self, number: int) -> None:
        self._change_to(self.directory.numbers.session(number))

    def action_beside(self, step: int) -> None:
        self._change_to(self.directory.numbers.beside(self.session_id, step))

    def _change_to(self, session_id: str) -> None:
        if session_id and session_id != self.session_id:
            begin(self, self.open_session, session_id)

    def action_next_theme(self) -> None:
        names = sorted(self.available_themes, key=lambda name: (not name.startswith("betcode-"), name))
        self.theme = names[(names.index(self.theme) + 1) % len(names)]
        self._themes.save(self.theme)
        self.notify(f"Theme {self.theme}", timeout=2)

    def _show_notes(self) -> None:
        for note in self._opening.notes():
            self.notify(clean(note), markup=False)

    def show_error(self, error: ClientError) -> None:
        """Show an error of the daemon or of the connection."""
        self.notify(clean(error.message), severity="error", markup=False)

    def on_task_failed(self, message: TaskFailed) -> None:
        """Show an unexpected error of a task; the rest of the screen continues."""
        error = message.error
        if self.is_headless:
            self._handle_exception(error)  # let tests see the exception
            return
        words = f"Internal error: {type(error).__name__} {error}".strip()
        self.notify(one_line(words, 300), severity="error", markup=False)

    def _end_with(self, error: Exception) -> None:
        self.failure = error
        self.exit()

    def _handle_exception(self, error: Exception) -> None:
        """End the screen after an unexpected exception; the caller of `run_screen` reports it."""
        if self.is_headless:
            super()._handle_exception(error)  # let tests see the exception
        else:
            self._end_with(error)


async def run_screen(client: Client, opening: StartOptions, data_dir: Path) -> ScreenExit:
    """Run the screen until the person quits, and always restore the terminal."""
    app = BetcodeApp(client, opening, data_dir)
    with _signals_leave(app):
        code = await app.run_async(mouse=opening.has_mouse)
    if app.failure is not None:
        raise app.failure
    return ScreenExit(code or 0, app.session_id)


def _leave(app: BetcodeApp, number: int) -> None:
    app.exit(128 + number)
    if number == signal.SIGHUP:
        # The terminal is gone: Textual would wait for ever to write to it.
        end = threading.Timer(_HUNG_UP_S, os._exit, (128 + number,))
        end.daemon = True
        end.start()


@contextmanager
def _signals_leave(app: BetcodeApp) -> Iterator[None]:
    """Restore the terminal before a signal ends the process."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _leave, app, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
