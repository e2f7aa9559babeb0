"""Maps style names to the styles of a theme; without colours, to bold, dim and reverse."""

from collections.abc import Callable

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from betcode.tui.view.spans import Line

PREFIX = "conversation--"
_RULES = {
    "said": "color: $text-secondary; text-style: bold;",
    "mark": "color: $text-accent; text-style: bold;",
    "attachment": "color: $text-secondary; text-style: italic;",
    "tool": "text-style: bold;",
    "good": "color: $text-success; text-style: bold;",
    "bad": "color: $text-error; text-style: bold;",
    "running": "color: $text-warning; text-style: bold;",
    "notable": "color: $text-warning; text-style: bold;",
    "quiet": "text-style: dim;",
    "thought": "text-style: italic;",
    "rule": "text-style: dim;",
    "nested": "color: $text-accent; text-style: dim;",
    "heading": "color: $text-primary; text-style: bold underline;",
    "subheading": "color: $text-primary; text-style: bold;",
    "strong": "text-style: bold;",
    "emphasis": "text-style: italic;",
    "struck": "text-style: strike;",
    "link": "color: $text-accent; text-style: underline;",
    "target": "text-style: dim;",
    "quote": "text-style: italic;",
    "inline-code": "color: $text-warning; text-style: bold;",
    "code": "",
    "code-keyword": "color: $text-primary; text-style: bold;",
    "code-name": "color: $text-secondary; text-style: bold;",
    "code-string": "color: $text-success;",
    "code-number": "color: $text-warning;",
    "code-comment": "text-style: italic dim;",
    "added": "color: $text-success;",
    "removed": "color: $text-error;",
    "changed": "text-style: reverse;",
    "cursor": "text-style: reverse;",
    "news": "text-style: bold reverse;",
}
NAMES = {f"{PREFIX}{name}" for name in _RULES}
CSS = "\n".join(f"ConversationView > .{PREFIX}{name} {{ {rule} }}" for name, rule in _RULES.items())
_MOST_STRIPS = 1000  # a few screens, because strips are large


class Palette:
    """Converts lines to strips of exactly the width; results are cached."""

    def __init__(self, style_of: Callable[[str], Style]) -> None:
        self._style_of = style_of
        self._styles: dict[str, Style] = {}
        self._strips: dict[tuple[Line, int], Strip] = {}

    def clear(self) -> None:
        """Clear the cache after a change of the theme."""
        self._styles.clear()
        self._strips.clear()

    def style(self, names: str) -> Style:
        """Return the style for names separated by spaces; later names override earlier ones."""
        style = self._styles.get(names)
        if style is None:
            style = self._style_of("")
            for name in names.split():
                style += self._style_of(name)
            self._styles[names] = style
        return style

    def strip(self, line: Line, width: int) -> Strip:
        found = self._strips.get((line, width))
        if found is None:
            if len(self._strips) >= _MOST_STRIPS:
                self._strips.clear()
            segments = [Segment(text, self.style(style)) for text, style in line]
            used = sum(cell_len(text) for text, _ in line)
            found = Strip(segments, used).adjust_cell_length(width, self.style(""))
            self._strips[(line, width)] = found
        return found
