"""The selected block of a conversation, on which keys act."""

from betcode.tui.view.block_lines import Drawing, DrawnPart
from betcode.tui.view.layout import Layout
from betcode.tui.view.render_cache import RenderCache


class Cursor:
    """Selects a part of a block by its key, so that changes around it do not matter."""

    def __init__(self, layout: Layout, drawings: RenderCache) -> None:
        self._layout = layout
        self._drawings = drawings
        self._root = ""
        self._key = ""

    @property
    def key(self) -> str:
        """The key of the part; empty without a selection."""
        return self._key

    def put(self, index: int, key: str) -> None:
        self._root, self._key = self._layout.blocks[index].key, key

    def step(self, by: int) -> None:
        """Move to the previous or next part; without a selection, to the last visible one."""
        found = self.selection()
        if found is None:
            self._start()
            return
        index, part = found
        keys = _keys(self._layout.drawing(index))
        at = keys.index(part.key) + by
        while not 0 <= at < len(keys):
            index += by
            if not 0 <= index < len(self._layout.blocks):
                return
            keys = _keys(self._layout.drawing(index))
            at = 0 if by > 0 else len(keys) - 1
        self.put(index, keys[at])
        self._bring_into_view()

    def selection(self) -> tuple[int, DrawnPart] | None:
        """Return the selected block and part, if they still exist."""
        index = self._layout.index_of(self._root) if self._root else None
        if index is None:
            return None
        parts = self._layout.drawing(index).parts
        found = next((part for part in parts if part.key == self._key), parts[0] if parts else None)
        return (index, found) if found else None

    def toggle(self) -> None:
        """Expand or fold the selected part; its first line keeps its position."""
        found = self.selection()
        if found is None:
            return
        index, part = found
        if not part.opens:
            return
        row = self._layout.row_of(index, part.start)
        level = self._drawings.opened.get(part.key, 0)
        self._drawings.open(part.key, level + 1 if "/" in part.key else 0 if level else 1)
        self._show(index, part.key, row)

    def toggle_seen(self) -> None:
        """Expand all visible parts, or fold them if all are expanded."""
        seen: dict[str, int] = {}
        for line in range(self._layout.top, self._layout.top + self._layout.height):
            found = self._layout.at(line)
            part = self._layout.line(line)[1]
            if found and part and part.opens and "/" not in part.key:
                seen.setdefault(part.key, found[0])
        if not seen:
            return
        first = next(iter(seen))
        row = self._row(seen[first], first)
        level = 0 if all(self._drawings.opened.get(key) for key in seen) else 1
        for key in seen:
            self._drawings.open(key, level)
        self._show(seen[first], first, max(row, 0))

    def _start(self) -> None:
        for line in range(self._layout.top + self._layout.height - 1, self._layout.top - 1, -1):
            found, part = self._layout.at(line), self._layout.line(line)[1]
            if found and part:
                self.put(found[0], part.key)
                return

    def _row(self, index: int, key: str) -> int:
        start = next((part.start for part in self._layout.drawing(index).parts if part.key == key), 0)
        return self._layout.row_of(index, start)

    def _show(self, index: int, key: str, row: int) -> None:
        """Scroll to this row, or further up if the expanded part would be below the window."""
        drawing = self._layout.drawing(index)
        start = next((part.start for part in drawing.parts if part.key == key), 0)
        available = self._layout.height - (len(drawing.lines) - start)
        self._layout.show(index, start, min(row, max(available, 0)))

    def _bring_into_view(self) -> None:
        found = self.selection()
        if found is None:
            return
        self._layout.settle()
        index, part = found
        row = self._layout.row_of(index, part.start)
        if not 0 <= row < self._layout.height:
            self._layout.show(index, part.start, 0 if row < 0 else self._layout.height - 1)


def _keys(drawing: Drawing) -> list[str]:
    return list(dict.fromkeys(part.key for part in drawing.parts))
