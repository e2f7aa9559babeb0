"""The list of sessions: those that wait for a person first, filtered by typing."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from betcode.tui import keys
from betcode.tui.sessions.directory import SessionDirectory, in_order, matches
from betcode.tui.sessions.rows import row
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import one_line

_POLL_S = 0.25

SessionAction = Callable[[str, v1.SessionSummary], None]


class SessionList(ModalScreen[str | None]):
    """Returns the id of the session to open; an empty one requests a new session."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings(keys.KeyContext.SESSIONS)

    def __init__(
        self, directory: SessionDirectory, current: str, do: SessionAction, *, title: str = "Sessions", here: str = ""
    ) -> None:
        super().__init__()
        self._directory = directory
        self._current = current
        self._do = do
        self._title = title
        self._here = here
        self._shown: tuple[int, str, int] = (-1, "", 0)
        self._rows: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield Static(self._title, id="list-title", classes="title", markup=False)
            yield Input(placeholder="type to filter", id="filter")
            yield OptionList(id="sessions")
            yield Static(markup=False, classes="hint", id="list-hint")

    def on_mount(self) -> None:
        self._directory.lists += 1
        self._directory.refresh()
        self.call_after_refresh(self._show)
        self.set_interval(_POLL_S, self._show)

    def on_unmount(self) -> None:
        self._directory.lists -= 1

    def on_resize(self) -> None:
        self._show()

    def on_input_changed(self, _message: Input.Changed) -> None:
        self._show()

    def on_descendant_focus(self) -> None:
        in_filter = isinstance(self.focused, Input)
        letters = "n new · r rename · f fork · x export · c close · d delete"
        words = "↑ ↓ Enter: open · Tab: more keys · Esc: back" if in_filter else letters
        self.query_one("#list-hint", Static).update(words)

    def _show(self) -> None:
        words, options = self.query_one(Input).value, self.query_one(OptionList)
        shown = (self._directory.revision, words, options.size.width)
        if shown == self._shown or not options.size.width:  # the width of a row is unknown before the layout
            return
        self._shown = shown
        found = [one for one in in_order(self._directory.sessions, self._here) if matches(one, words)]
        width = max(options.size.width - 4, 20)
        now = datetime.now(UTC)
        rows = [(one.id, row(one, self._directory.numbers.of(one.id), now, width)) for one in found]
        if rows != self._rows:
            self._rows = rows
            self._put(options)
        self._show_count(len(found))

    def _put(self, options: OptionList) -> None:
        """Replace the rows, with the same selection and scroll position."""
        chosen, at = self._chosen_id(), options.scroll_y
        options.clear_options()
        options.add_options(Option(Content(words), each) for each, words in self._rows)
        if self._rows:
            ids = [each for each, _ in self._rows]
            options.highlighted = ids.index(chosen) if chosen in ids else 0
            if chosen in ids:
                options.scroll_to(y=at, animate=False)

    def _show_count(self, found: int) -> None:
        whole = f"{found} of {self._directory.total}" if found != self._directory.total else str(found)
        words = f"{self._title} · {whole}"
        if self._directory.trouble:
            words = f"{words} · {one_line(self._directory.trouble, 60)}"
        self.query_one("#list-title", Static).update(words)

    def _chosen_id(self) -> str:
        options = self.query_one(OptionList)
        if options.highlighted is None or not options.option_count:
            return ""
        return options.get_option_at_index(options.highlighted).id or ""

    def on_key(self, event: events.Key) -> None:
        """Let arrow keys select while the person types."""
        options = self.query_one(OptionList)
        if isinstance(self.focused, Input) and event.key in ("up", "down"):
            event.stop()
            if event.key == "up":
                options.action_cursor_up()
            else:
                options.action_cursor_down()

    def on_input_submitted(self, _message: Input.Submitted) -> None:
        self._open(self._chosen_id())

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self._open(message.option_id or "")

    def _open(self, session_id: str) -> None:
        if session_id:
            self.dismiss(session_id)

    def action_close_list(self) -> None:
        self.dismiss(None)

    def action_new(self) -> None:
        self.dismiss("")

    def action_session_action(self, name: str) -> None:
        one = self._directory.known(self._chosen_id())
        if one is not None:
            self._do(name, one)
