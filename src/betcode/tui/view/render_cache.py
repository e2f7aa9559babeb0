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
        self._entries: OrderedDict[tuple[str, int], _CacheEntry] = OrderedDict()
        self._lines = 0

    def of(self, block: Block, width: int) -> Drawing:
        """Return the drawing of the block."""
        stamp = (block.revision, self._changes)
        cache_key = (block.key, width)
        entry = self._entries.get(cache_key)
        if entry is not None and entry.stamp == stamp:
            self._entries.move_to_end(cache_key)
            return entry.drawing
        if entry is None:
            entry = self._entries[cache_key] = _CacheEntry(stamp, Drawing())
        self._entries.move_to_end(cache_key)
        before = len(entry.drawing.lines)
        entry.stamp = stamp
        entry.drawing = draw(block, Canvas(width, self.opened, self._text_lines, self.of))
        self.count += 1
        if cache_key not in self._entries:  # its children may have evicted it
            self._entries[cache_key], before = entry, 0
        self._lines += len(entry.drawing.lines) - before
        self._forget(cache_key)
        return entry.drawing

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

    def _text_lines(self, block: AgentText, width: int) -> list[Line]:
        available = width - GUTTER
        margin = ("▏ ", "thought quiet") if isinstance(block, AgentThinking) else NOTHING
        if self.is_plain:
            return [(margin, *line) for line in plain_lines(block.text, available)]
        entry = self._entries[(block.key, width)]
        if entry.markdown is None:
            entry.markdown = MarkdownLines(available, (margin,))
        return entry.markdown.lines(block.text)

    def _forget(self, newest: tuple[str, int]) -> None:
        while self._lines > _MOST_LINES and len(self._entries) > 1:
            cache_key, entry = self._entries.popitem(last=False)
            if cache_key == newest:
                self._entries[cache_key] = entry
                return
            self._lines -= len(entry.drawing.lines)
