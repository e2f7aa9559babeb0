"""Modal dialogs: a text field, yes or no, a menu, and a text viewer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from betcode.tui.widgets.line_view import LineView, ViewLine
from betcode.wording.terminal_text import clean


class AskLine(ModalScreen[str | None]):
    """Asks for a line of text; None if the person cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel")]

    def __init__(self, question: str, text: str = "") -> None:
        super().__init__()
        self._question = question
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(clean(self._question), markup=False)
            yield Input(clean(self._text))
            yield Static("Enter: OK · Esc: cancel", classes="hint", markup=False)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        self.dismiss(message.value)


class AskYesNo(ModalScreen[bool]):
    """Asks a yes/no question; only y means yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "yes"),
        Binding("n,escape,enter", "dismiss(False)", "no"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(clean(self._question), markup=False)
            yield Static("y: yes · n: no", classes="hint", markup=False)


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of a menu and its key."""

    key: str
    words: str


class KeyMenu(ModalScreen[str | None]):
    """Selects an entry by key, arrows and Enter, or mouse; returns its key."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel")]

    def __init__(self, title: str, entries: Sequence[MenuEntry]) -> None:
        super().__init__()
        self._title = title
        self._entries = {entry.key: entry for entry in entries}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(clean(self._title), classes="title", markup=False)
            yield OptionList(
                *(Option(Content(f"{entry.key}  {clean(entry.words)}"), entry.key) for entry in self._entries.values())
            )

    def on_key(self, event: events.Key) -> None:
        if event.character in self._entries:
            event.stop()
            self.dismiss(event.character)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(message.option_id)


class TextView(ModalScreen[None]):
    """Shows a scrollable text of any length; its lines are already sanitized."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "close"),
        Binding("y,ctrl+y", "copy", "copy"),
    ]

    def __init__(self, title: str, lines: Sequence[ViewLine]) -> None:
        super().__init__()
        self._title = title
        self._lines = lines
        self._view = LineView()
        self._view.can_focus = True

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield Static(clean(self._title), classes="title", markup=False)
            yield self._view
            yield Static("↑ ↓ PgUp PgDn: scroll · y: copy · Esc: close", classes="hint", markup=False)

    def on_mount(self) -> None:
        self._view.show(self._lines, from_the_top=True)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard("\n".join(line.text for line in self._lines))
        self.notify("Copied", timeout=2)
