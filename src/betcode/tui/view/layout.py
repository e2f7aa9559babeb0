"""Determines the visible lines of a conversation; what a person reads does not move.

Heights of blocks that were never rendered are estimated. The scroll position is a block and a line in it, so a wrong
estimate changes numbers but nothing visible.
"""

from collections.abc import Sequence

from betcode.tui.model.blocks import Block
from betcode.tui.view.block_lines import Drawing, DrawnPart, estimated, gap_before
from betcode.tui.view.heights import Heights
from betcode.tui.view.render_cache import RenderCache
from betcode.tui.view.spans import Line


class Layout:
    """The layout of one conversation in a window."""

    def __init__(self, drawings: RenderCache) -> None:
        self.follows = True  # the end stays in view
        self.top = 0  # the first visible line
        self.width = self.height = 1
        self._drawings = drawings
        self._blocks: list[Block] = []
        self._gaps: list[int] = []
        self._indexes: dict[str, int] = {}
        self._heights = Heights()
        self._block = self._line = 0  # the block and the line at the top
        self._seen = (0, 0)  # the last block when the end left the view, and its height

    @property
    def total(self) -> int:
        return self._heights.total

    @property
    def blocks(self) -> Sequence[Block]:
        return self._blocks

    @property
    def new_lines(self) -> int:
        """The number of lines that were added after the end left the view."""
        if self.follows or not self._blocks:
            return 0
        index, height = self._seen
        return max(self.total - self._heights.above(index) - height, 0)

    def resize(self, width: int, height: int) -> None:
        """Change the size; the block at the top stays there."""
        if width != self.width and self._blocks:
            part = self._line / max(self._heights[self._block], 1)
            self.width = width
            self._heights = Heights(
                gap + estimated(block, width) for gap, block in zip(self._gaps, self._blocks, strict=True)
            )
            self._draw(self._block)
            self._line = int(part * self._heights[self._block])
            self._seen = (self._seen[0], self._draw_height(self._seen[0]))
        self.width, self.height = width, max(height, 1)

    def take(self, blocks: Sequence[Block]) -> None:
        """Update the blocks; blocks added at the end are processed alone."""
        known = len(self._blocks)
        if known and not (
            len(blocks) >= known and blocks[0] is self._blocks[0] and blocks[known - 1] is self._blocks[-1]
        ):
            self._rebuild(blocks)
            return
        for index in range(known, len(blocks)):
            self._append(blocks[index], self._blocks[-1] if self._blocks else None)
        if self._blocks:
            self._draw(len(self._blocks) - 1)  # its height counts even outside the view

    def settle(self) -> None:
        """Draw the visible blocks and determine their positions."""
        if not self._blocks:
            self.top = 0
            return
        if not self.follows:
            self._draw(self._block)
            self._line = min(self._line, max(self._heights[self._block] - 1, 0))
            filled, index = -self._line, self._block
            while filled < self.height and index < len(self._blocks):
                self._draw(index)
                filled += self._heights[index]
                index += 1
            if filled <= self.height and index == len(self._blocks):
                self.follows = True
            else:
                self.top = self._heights.above(self._block) + self._line
        if self.follows:
            filled, index = 0, len(self._blocks)
            while filled < self.height and index > 0:
                index -= 1
                self._draw(index)
                filled += self._heights[index]
            self.top = max(self.total - self.height, 0)
            self._block, self._line = self._heights.find(self.top)
            self._seen = (len(self._blocks) - 1, self._heights[len(self._blocks) - 1])

    def move(self, lines: int) -> None:
        """Scroll by exactly this number of lines, however wrong the estimates are."""
        if not self._blocks:
            return
        self.follows = False
        self._line += lines
        while self._line < 0 and self._block > 0:
            self._block -= 1
            self._line += self._draw_height(self._block)
        self._line = max(self._line, 0)
        while self._line >= self._draw_height(self._block) and self._block < len(self._blocks) - 1:
            self._line -= self._heights[self._block]
            self._block += 1
        self.settle()

    def go_to(self, line: int) -> None:
        """Scroll to this line, as estimated from the scroll bar."""
        if self._blocks:
            self.follows = line >= self.total - self.height
            self._block, self._line = self._heights.find(line)
            self.settle()

    def go_to_end(self) -> None:
        self.follows = True
        self.settle()

    def show(self, index: int, line: int, row: int) -> None:
        """Show this line of this block at that row of the window."""
        self._block, self._line, self.follows = index, 0, False
        self._draw(index)
        self.move(self._gaps[index] + line - row)

    def drawing(self, index: int) -> Drawing:
        """Return the current drawing of a block."""
        return self._draw(index)

    def index_of(self, key: str) -> int | None:
        """Return the index of the block with this key, if it is still a root block."""
        return self._indexes.get(key)

    def at(self, line: int) -> tuple[int, int] | None:
        """Return the block at a line, and the line of its drawing; negative in the gap before it."""
        if not 0 <= line < self.total:
            return None
        index, inner = self._heights.find(line)
        return index, inner - self._gaps[index]

    def line(self, line: int) -> tuple[Line, DrawnPart | None]:
        """Return the content of a line and the part that it belongs to."""
        found = self.at(line)
        if found is None:
            return (), None
        index, inner = found
        drawing = self._draw(index)
        return (drawing.lines[inner], drawing.part_at(inner)) if 0 <= inner < len(drawing.lines) else ((), None)

    def row_of(self, index: int, line: int) -> int:
        """Return the row in the window; negative or beyond the height if it is not visible."""
        return self._heights.above(index) + self._gaps[index] + line - self.top

    def _draw(self, index: int) -> Drawing:
        drawing = self._drawings.of(self._blocks[index], self.width)
        self._heights.put(index, self._gaps[index] + len(drawing.lines) if drawing.lines else 0)
        return drawing

    def _draw_height(self, index: int) -> int:
        self._draw(index)
        return self._heights[index]

    def _append(self, block: Block, previous: Block | None) -> None:
        gap = gap_before(block, previous)
        self._indexes[block.key] = len(self._blocks)
        self._blocks.append(block)
        self._gaps.append(gap)
        self._heights.append(gap + estimated(block, self.width))

    def _rebuild(self, blocks: Sequence[Block]) -> None:
        """Rebuild the list: older blocks were prepended, or some have moved below others."""
        known = {block.key: self._heights[at] - self._gaps[at] for at, block in enumerate(self._blocks)}
        keys = [block.key for block in self._blocks[self._block :]]
        seen_key, seen_height = self._blocks[min(self._seen[0], len(self._blocks) - 1)].key, self._seen[1]
        was_at, line = self._gaps[self._block], self._line
        self._blocks = list(blocks)
        self._gaps = [gap_before(block, blocks[at - 1] if at else None) for at, block in enumerate(blocks)]
        self._heights = Heights(
            gap + known.get(block.key, estimated(block, self.width))
            for gap, block in zip(self._gaps, blocks, strict=True)
        )
        self._indexes = indexes = {block.key: at for at, block in enumerate(blocks)}
        self._block = next((indexes[key] for key in keys if key in indexes), max(len(blocks) - 1, 0))
        if blocks:
            self._line = max(line + self._gaps[self._block] - was_at, 0)
            self._seen = (indexes.get(seen_key, len(blocks) - 1), seen_height)
            self._draw(len(blocks) - 1)
