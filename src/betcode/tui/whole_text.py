"""A text of any length, read in a window of its own: only the lines that are seen are drawn."""

from typing import ClassVar

from rich.cells import chop_cells
from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from betcode.wording.terminal_text import clean, one_line

_TAB = 4
_TITLE = 200


class WholeText(ModalScreen[None]):
    """From its beginning; it can be copied."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v", "dismiss(None)", "close"),
        Binding("y,ctrl+y", "copy", "copy"),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = one_line(title, _TITLE)
        self._text = clean(text).expandtabs(_TAB)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield Static(self._title, classes="title", markup=False)
            yield _Lines(self._text)
            yield Static("↑ ↓ PgUp PgDn Home End · y: copy · Esc: close", classes="hint", markup=False)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text)
        self.notify("Copied", timeout=2)


class _Lines(ScrollView, can_focus=True):
    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._lines: list[str] = []

    def on_resize(self) -> None:
        width = max(self.scrollable_content_region.width, 1)
        self._lines = [part for line in self._text.split("\n") for part in folded(line, width)]
        self.virtual_size = Size(width, len(self._lines))

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        line = self._lines[at] if at < len(self._lines) else ""
        return Strip([Segment(line, self.rich_style)]).adjust_cell_length(self.size.width, self.rich_style)


def folded(line: str, width: int) -> list[str]:
    """A line in parts that fit."""
    if line.isascii():  # what can be long is mostly that
        return [line[at : at + width] for at in range(0, len(line), width)] or [""]
    return chop_cells(line, width) or [""]
