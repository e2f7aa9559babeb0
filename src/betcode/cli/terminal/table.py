"""Plain columns that fit the terminal, in any script."""

from collections.abc import Sequence

from betcode.wording.terminal_text import clean, columns, ending, one_line, padded, wrapped

_GAP = "  "
_LEAST = 14  # minimum width of a text that is cut to fit
_NARROWEST = 4
_UNCUT = 10_000
_BREAKS = {ord("\n"): " ", ord("\t"): " "}


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, path: str = "", spare: Sequence[str] = ()
) -> list[str]:
    """Return lines of aligned columns, at most `width` wide; the last column takes the remaining width and is cut.

    If there is too little space, the columns of `spare` are left out in their order, and those of `path` lose their
    beginning. If that is not enough, the widest columns are cut.
    """
    cells = [headings, *[[clean(cell).translate(_BREAKS) for cell in row] for row in rows]]
    sizes = [max(columns(row[index]) for row in cells) for index in range(len(headings))]
    last = len(headings) - 1
    flexible = [headings.index(path), last] if path else [last]
    least = [min(size, _LEAST) if index in flexible else min(size, width) for index, size in enumerate(sizes)]
    columns_shown = list(range(len(headings)))

    def spare_width() -> int:
        """Return the remaining width; negative if the columns are too wide."""
        return width - sum(least[index] for index in columns_shown) - len(_GAP) * (len(columns_shown) - 1)

    for name in spare:
        if spare_width() >= 0:
            break
        columns_shown.remove(headings.index(name))
    without_ids = [index for index in columns_shown if headings[index] != "ID"]
    for giving in (without_ids, columns_shown):  # ids last, because people type them
        while spare_width() < 0 and max((least[index] for index in giving), default=0) > _NARROWEST:
            least[max(giving, key=lambda index: least[index])] -= 1
    for index in flexible:
        if index in columns_shown:
            least[index] += max(min(sizes[index] - least[index], spare_width()), 0)

    def shown(index: int, cell: str) -> str:
        cut = ending if headings[index] == path else one_line
        fitting = cell if columns(cell) <= least[index] else cut(cell, least[index])
        return fitting if index == last else padded(fitting, least[index])

    return [_GAP.join(shown(index, row[index]) for index in columns_shown).rstrip() for row in cells]


def uncut_table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """Return a table whose cells are never cut. If it does not fit, the cells of a row are printed below each other.

    A width of None means a pipe, which is never too narrow.
    """
    lines = table(headings, rows, _UNCUT)
    if width is None or max(map(columns, lines)) <= width:
        return lines
    return [line for first, *rest in rows for line in (*wrapped(first, width), *_below(rest, width))]


def _below(cells: Sequence[str], width: int) -> list[str]:
    return [f"  {line}" for cell in cells for line in wrapped(cell, width - 2)]
