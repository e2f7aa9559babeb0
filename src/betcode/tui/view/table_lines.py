"""Renders tables within the width; a table that is too wide becomes a list of fields per row."""

from collections.abc import Sequence

from betcode.tui.view.spans import Line, Span, width_of, wrap

Cell = Sequence[Span]
_NARROWEST = 5
_GAP = " │ "


def table_lines(rows: Sequence[Sequence[Cell]], width: int) -> list[Line]:
    """Return the lines of a table; the first row is the header."""
    columns = max(len(row) for row in rows)
    widths = _fitting([_natural(rows, column) for column in range(columns)], width - len(_GAP) * (columns - 1))
    if widths is None:
        return _as_fields(rows, width)
    lines: list[Line] = []
    for number, row in enumerate(rows):
        lines += _row(row, widths, "strong" if number == 0 else "")
        if number == 0:
            lines.append((("─┼─".join("─" * size for size in widths), "quiet"),))
    return lines


def _natural(rows: Sequence[Sequence[Cell]], column: int) -> int:
    return max((width_of(row[column]) for row in rows if column < len(row)), default=0) or 1


def _fitting(natural: list[int], available: int) -> list[int] | None:
    """Return the column widths, the widest reduced first; None if even narrow columns do not fit."""
    if sum(min(size, _NARROWEST) for size in natural) > available:
        return None
    low, high = _NARROWEST, max(natural)
    while low < high:  # the largest limit with which all fit
        middle = (low + high + 1) // 2
        if sum(min(size, middle) for size in natural) <= available:
            low = middle
        else:
            high = middle - 1
    return [min(size, low) for size in natural]


def _row(row: Sequence[Cell], widths: list[int], style: str) -> list[Line]:
    cells = [
        wrap(_styled(row[column], style), size) if column < len(row) else [()] for column, size in enumerate(widths)
    ]
    lines: list[Line] = []
    for at in range(max(map(len, cells))):
        line: list[Span] = []
        for column, size in enumerate(widths):
            part = cells[column][at] if at < len(cells[column]) else ()
            line += part
            if column < len(widths) - 1:
                line += [(" " * (size - width_of(part)), ""), (_GAP, "quiet")]
        lines.append(tuple(span for span in line if span[0]))
    return lines


def _as_fields(rows: Sequence[Sequence[Cell]], width: int) -> list[Line]:
    head, *others = rows
    lines: list[Line] = []
    for row in others:
        if lines:
            lines.append(())
        for column, cell in enumerate(row):
            name = _styled(head[column], "strong") if column < len(head) else []
            lines += wrap([*name, (": ", "quiet"), *cell], width)
    return lines or [line for cell in head for line in wrap(_styled(cell, "strong"), width)]


def _styled(cell: Cell, style: str) -> list[Span]:
    return [(text, f"{own} {style}".strip()) for text, own in cell]
