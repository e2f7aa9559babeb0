"""Alerts a person who is not looking at the screen: bell, terminal title and terminal notifications."""

import time
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from textual.app import App

from betcode.tui.cards.texts import named
from betcode.tui.pending_board import BoardChanged, News, PendingBoard, PromptClosed, PromptOpened
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.terminal_text import one_line

_BELL = "\a"
_KEEP_TITLE, _OLD_TITLE = "\x1b[22;0t", "\x1b[23;0t"
_TITLE_WIDTH = 80
_NOTIFICATION_WIDTH = 120
_QUIET_S = 2.0  # many prompts at once cause one alert
_SPEAK_777 = ("rxvt", "foot")


class Attention:
    """Shows the number of open prompts in the title, and alerts once for prompts that the person does not see."""

    def __init__(
        self,
        board: PendingBoard,
        write: Callable[[str], None],
        sees: Callable[[str], bool],
        environment: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`write` writes to the terminal unchanged; `sees` says whether the person sees a session now."""
        self._board = board
        self._write = write
        self._sees = sees
        self._environment = environment
        self._clock = clock
        self._called_at: float | None = None
        self._name = "betcode"
        self._title = ""
        self._stop_listening: Callable[[], None] | None = None

    def begin(self) -> None:
        """Start; the terminal saves its previous title."""
        self._send(_KEEP_TITLE)
        self._stop_listening = self._board.listen(self._board_changed)
        self._write_title()

    def end(self) -> None:
        """Restore the previous title."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
            self._send(title("") + _OLD_TITLE)
            self._title = ""

    def show_name(self, name: str) -> None:
        """Show this name in the title."""
        self._name = name
        if self._stop_listening is not None:
            self._write_title()

    def _board_changed(self, news: News) -> None:
        match news:
            case PromptOpened(prompt, was_open_before):
                if not was_open_before and not self._sees(prompt.session_id):
                    self._alert(prompt)
            case PromptClosed() | BoardChanged():
                pass
            case other:
                assert_never(other)
        self._write_title()

    def _alert(self, prompt: v1.PendingPrompt) -> None:
        now = self._clock()
        if self._called_at is not None and now - self._called_at < _QUIET_S:
            return
        self._called_at = now
        where = prompt.session_name or short_id(prompt.session_id)
        self._send(_BELL + notification(f"{one_line(where, 40)}: {named(prompt)}", self._environment))

    def _write_title(self) -> None:
        count = len(self._board.all)
        title_text = f"● {count} waiting · {self._name}" if count else self._name
        if title_text != self._title:
            self._title = title_text
            self._send(title(title_text))

    def _send(self, text: str) -> None:
        # These terminals print such sequences, or part of them
        if self._environment.get("TERM", "dumb") not in ("dumb", "linux"):
            self._write(text)


def attend(
    app: App[Any], board: PendingBoard, sees: Callable[[str], bool], environment: Mapping[str, str]
) -> Attention:
    """Start the alerts; they pause while another program has the terminal. The caller ends them with the app."""

    def write(text: str) -> None:
        if app._driver is not None:
            app._driver.write(text)

    attention = Attention(board, write, sees, environment)
    app.app_suspend_signal.subscribe(app, lambda _: attention.end())
    app.app_resume_signal.subscribe(app, lambda _: attention.begin())
    app.watch(app, "title", attention.show_name)
    attention.begin()
    return attention


def title(text: str) -> str:
    """Return the sequence that sets the terminal's title; the text cannot end it or start another."""
    return f"\x1b]0;{one_line(text, _TITLE_WIDTH)}\a"


def notification(text: str, environment: Mapping[str, str]) -> str:
    """Return the sequence for a notification that this terminal supports."""
    body = one_line(text, _NOTIFICATION_WIDTH)
    if environment.get("TERM", "").startswith(_SPEAK_777) or environment.get("VTE_VERSION"):
        sequence = f"\x1b]777;notify;betcode;{body.replace(';', ',')}\a"
    else:
        # Start with a word: some terminals interpret a number here as another command.
        sequence = f"\x1b]9;betcode: {body}\a"
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\" if environment.get("TMUX") else sequence
