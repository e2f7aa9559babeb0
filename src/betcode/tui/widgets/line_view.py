"""A scrollable view of many lines that renders only the visible ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

_TAB = "    "
_LEAST_ROWS = 3


class LineKind(Enum):
    """How a line is drawn; the text says the same without colours."""

    PLAIN = "plain"
    TITLE = "title"
    DIM = "dim"
    NOTE = "note"
    ADDED = "added"
    REMOVED = "removed"
    PLACE = "place"
    CHOSEN = "chosen"


@dataclass(frozen=True, slots=True)
class ViewLine:
    text: str
    kind: LineKind = LineKind.PLAIN


class LineView(ScrollView, can_focus=False):
    """As high as its lines need, up to a limit; the rest is scrolled."""

    DEFAULT_CSS = """
    LineView { height: auto; overflow-x: hidden; scrollbar-size-vertical: 1; }
    LineView > .line--title { text-style: bold; }
    LineView > .line--dim { color: $text-muted; }
    LineView > .line--note { color: $text-warning; text-style: bold; }
    LineView > .line--added { color: $text-success; }
    LineView > .line--removed { color: $text-error; }
    LineView > .line--place { color: $text-primary; }
    LineView > .line--chosen { text-style: reverse; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line--{kind.value}" for kind in LineKind}

    def __init__(self) -> None:
        super().__init__()
        self._lines: Sequence[ViewLine] = ()
        self._rows: list[ViewLine] = []
        self._width = 0

    def show(self, lines: Sequence[ViewLine], *, from_the_top: bool) -> None:
        """Replace the lines, if they differ."""
        if lines is self._lines and not from_the_top:
            return
        self._lines = lines
        self._width = 0
        self._fold(self.size.width)
        if from_the_top:
            self.scroll_to(0, 0, animate=False, immediate=True)

    def allow_rows(self, count: int) -> None:
        """Limit the height to this many rows."""
        self.styles.max_height = max(count, _LEAST_ROWS)

    def on_resize(self) -> None:
        self._fold(self.size.width)

    def see(self, kind: LineKind) -> None:
        """Scroll to the line of this kind."""
        at = next((number for number, line in enumerate(self._rows) if line.kind is kind), None)
        if at is None:
            return
        top, height = self.scroll_offset.y, self.size.height
        if not top <= at < top + height:
            self.scroll_to(0, max(at - height // 2, 0), animate=False, immediate=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's own
        self._fold(width)
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        width = self.size.width
        if at >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        line = self._rows[at]
        style = self.get_component_rich_style(f"line--{line.kind.value}")
        return Strip([Segment(line.text, style)]).adjust_cell_length(width, self.rich_style)

    def _fold(self, width: int) -> None:
        width -= 1  # the scroll bar needs a column
        if width <= 0 or width == self._width:
            return
        self._width = width
        self._rows = [ViewLine(piece, line.kind) for line in self._lines for piece in folded(line.text, width)]
        self.virtual_size = Size(width, len(self._rows))
        self.refresh(layout=True)


def folded(text: str, width: int) -> Iterator[str]:
    """Yield a line in parts that fit, without losing any of it."""
    text = text.replace("\t", _TAB)
    if len(text) <= width // 2 or cell_len(text) <= width:
        yield text
    elif text.isascii():
        start = 0
        while len(text) - start > width:
            space = text.rfind(" ", start + width * 2 // 3, start + width) + 1  # do not break short words
            end = space or start + width
            yield text[start:end]
            start = end
        yield text[start:]
    else:
        yield from chop_cells(text, width)
