"""Plain columns that fit the terminal, in any script."""

from collections.abc import Sequence

from betcode.wording.terminal_text import clean, columns, ending, one_line, padded

_GAP = "  "
_LEAST = 14  # columns that are left to a text that is cut to fit


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, path: str = "", spare: Sequence[str] = ()
) -> list[str]:
    """Lines of aligned columns; the last one takes what is left and is cut to fit.

    Where there is too little room the columns of `spare` are left out, the first first, and those of `path` lose their
    beginning.
    """
    cells = [headings, *[[clean(cell).replace("\n", " ") for cell in row] for row in rows]]
    sizes = [max(columns(row[index]) for row in cells) for index in range(len(headings))]
    last = len(headings) - 1
    kept = list(range(len(headings)))

    def room_for(index: int) -> int:
        """What the other columns leave to this one, the last at its least."""
        others = (min(sizes[each], _LEAST) if each == last else sizes[each] for each in kept if each != index)
        return width - sum(others) - len(_GAP) * (len(kept) - 1)

    flexible = headings.index(path) if path else last
    for name in spare:
        if room_for(flexible) >= min(sizes[flexible], _LEAST):
            break
        kept.remove(headings.index(name))
    if flexible != last:
        sizes[flexible] = min(sizes[flexible], max(room_for(flexible), _LEAST))
    sizes[last] = max(room_for(last), 10)

    def shown(index: int, cell: str) -> str:
        if index == last:
            return ending(cell, sizes[last]) if headings[last] == path else one_line(cell, sizes[last])
        return padded(ending(cell, sizes[index]), sizes[index])

    return [_GAP.join(shown(index, row[index]) for index in kept).rstrip() for row in cells]
