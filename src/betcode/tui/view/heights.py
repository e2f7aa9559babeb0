"""The heights of many blocks, with fast sums and fast lookup of the block at a line."""

from collections.abc import Iterable


class Heights:
    """A binary indexed tree: updates, prefix sums and searches take logarithmic time."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._tree = [0, *self._heights]
        for index in range(1, len(self._tree)):
            parent = index + (index & -index)
            if parent < len(self._tree):
                self._tree[parent] += self._tree[index]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        return self.above(len(self._heights))

    def append(self, height: int) -> None:
        self._heights.append(height)
        index = len(self._heights)
        below = index - (index & -index)
        self._tree.append(height + self.above(index - 1) - self.above(below))

    def put(self, index: int, height: int) -> None:
        """Change the height of a block."""
        change = height - self._heights[index]
        if not change:
            return
        self._heights[index] = height
        at = index + 1
        while at < len(self._tree):
            self._tree[at] += change
            at += at & -at

    def above(self, index: int) -> int:
        """Return the number of lines above the block with this index."""
        total = 0
        while index > 0:
            total += self._tree[index]
            index &= index - 1
        return total

    def find(self, line: int) -> tuple[int, int]:
        """Return the block at this line, and the line in it; the last line if there are fewer."""
        if line >= self.total:
            last = len(self._heights) - 1
            return last, max(self._heights[last] - 1, 0) if self._heights else 0
        index, rest = 0, max(line, 0)
        step = 1 << len(self._heights).bit_length()
        while step := step >> 1:
            if index + step < len(self._tree) and self._tree[index + step] <= rest:
                index += step
                rest -= self._tree[index]
        return index, rest
