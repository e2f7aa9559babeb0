"""The help screen: all keys on one page."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from betcode.tui import keys
from betcode.wording.terminal_text import padded, wrapped

_KEYS_WIDTH = 13
_WIDTH = 34  # of keys and texts together: 40 columns without the borders


def help_lines(width: int = _WIDTH) -> list[tuple[str, bool]]:
    """Return the lines, each with whether it is a heading."""
    lines: list[tuple[str, bool]] = []
    for heading, rows in keys.table():
        lines += [("", False)] if lines else []
        lines.append((heading, True))
        for names, words in rows:
            first, *more = wrapped(words, width - _KEYS_WIDTH)
            if len(names) >= _KEYS_WIDTH:
                lines.append((names, False))
                lines.append((" " * _KEYS_WIDTH + first, False))
            else:
                lines.append((padded(names, _KEYS_WIDTH) + first, False))
            lines += [(" " * _KEYS_WIDTH + line, False) for line in more]
    return lines


class HelpScreen(ModalScreen[None]):
    """Any common key closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1", "dismiss(None)", "close")]

    def compose(self) -> ComposeResult:
        width = max(min(self.app.size.width - 6, 90), _WIDTH)
        lines = help_lines(width)
        with Vertical(classes="dialog tall"):
            yield Static("Keys", classes="title", markup=False)
            with VerticalScroll(can_focus=True):
                text = Content("\n").join(
                    Content(line).stylize("bold") if is_heading else Content(line) for line, is_heading in lines
                )
                yield Static(text)
            yield Static("Esc: close", classes="hint", markup=False)
