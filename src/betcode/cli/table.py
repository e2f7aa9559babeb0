"""Plain columns that fit the terminal, in any script."""

from collections.abc import Sequence

from betcode.cli.terminal_text import clean, columns, one_line, padded

_GAP = "  "


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Lines of aligned columns; the last column takes what is left and is cut to fit."""
    cells = [headings, *[[clean(cell).replace("\n", " ") for cell in row] for row in rows]]
    widths = [max(columns(row[index]) for row in cells) for index in range(len(headings) - 1)]
    left = max(width - sum(widths) - len(_GAP) * len(widths), 10)
    return [
        _GAP.join(
            [*(padded(cell, size) for cell, size in zip(row, widths, strict=False)), one_line(row[-1], left)]
        ).rstrip()
        for row in cells
    ]
