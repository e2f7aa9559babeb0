"""Caches rendered blocks, within a memory limit."""

from collections import OrderedDict
from dataclasses import dataclass

from betcode.tui.model.blocks import AgentText, AgentThinking, Block
from betcode.tui.view import markdown_lines
from betcode.tui.view.block_lines import GUTTER, NOTHING, Canvas, Drawing, draw
from betcode.tui.view.markdown_lines import MarkdownLines, plain_lines
from betcode.tui.view.spans import Line

_MOST_LINES = 20_000  # in all drawings together; far more than a screen, and a few megabytes


@dataclass(slots=True)
class _CacheEntry:
    stamp: tuple[int, int]
    drawing: Drawing
    markdown: MarkdownLines | None = None


class RenderCache:
    """Draws each block, also inside others, once per change."""

    def __init__(self) -> None:
        self.opened: dict[str, int] = {}
        self.is_plain = not markdown_lines.is_loaded()  # draw plain text until Markdown is loaded
        self.count = 0  # the number of drawings, for tests
        self._changes = 0  # counts changes of expansion
        self._kept: OrderedDict[tuple[str, int], _CacheEntry] = OrderedDict()
        self._lines = 0

    def of(self, block: Block, width: int) -> Drawing:
        """Return the drawing of the block."""
        stamp = (block.revision, self._changes)
        place = (block.key, width)
        kept = self._kept.get(place)
        if kept is not None and kept.stamp == stamp:
            self._kept.move_to_end(place)
            return kept.drawing
        if kept is None:
            kept = self._kept[place] = _CacheEntry(stamp, Drawing())
        self._kept.move_to_end(place)
        before = len(kept.drawing.lines)
        kept.stamp = stamp
        kept.drawing = draw(block, Canvas(width, self.opened, self._words, self.of))
        self.count += 1
        if place not in self._kept:  # its children may have evicted it
            self._kept[place], before = kept, 0
        self._lines += len(kept.drawing.lines) - before
        self._forget(place)
        return kept.drawing

    def open(self, key: str, level: int) -> None:
        """Set the level of expansion; 0 folds the part."""
        if level:
            self.opened[key] = level
        else:
            self.opened.pop(key, None)
        self._changes += 1

    def no_longer_plain(self) -> None:
        """Redraw plain text after Markdown was loaded."""
        self.is_plain = False
        self._changes += 1

    def _words(self, block: AgentText, width: int) -> list[Line]:
        room = width - GUTTER
        margin = ("▏ ", "thought quiet") if isinstance(block, AgentThinking) else NOTHING
        if self.is_plain:
            return [(margin, *line) for line in plain_lines(block.text, room)]
        kept = self._kept[(block.key, width)]
        if kept.markdown is None:
            kept.markdown = MarkdownLines(room, (margin,))
        return kept.markdown.lines(block.text)

    def _forget(self, newest: tuple[str, int]) -> None:
        while self._lines > _MOST_LINES and len(self._kept) > 1:
            place, kept = self._kept.popitem(last=False)
            if place == newest:
                self._kept[place] = kept
                return
            self._lines -= len(kept.drawing.lines)
