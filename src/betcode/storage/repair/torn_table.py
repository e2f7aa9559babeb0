"""Read the rows of a table whose pages may be damaged, swapped or missing."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import apsw

_ROWS = 500
_FIRST = -(2**63)
_LAST = 2**63 - 1
_DAMAGE = (apsw.CorruptError, apsw.IOError, apsw.TooBigError, apsw.NoMemError, UnicodeDecodeError)

Row: TypeAlias = "tuple[Any, ...]"  # its number first


def readable_rows(source: apsw.Connection, table: str, columns: Sequence[str]) -> Iterator[list[Row] | None]:
    """Rows, some at a time and some of them more than once; None for each stretch that cannot be read.

    First the tree is walked through, page after page, which needs no order in it. Where that ends at a damaged page,
    rows are requested by their numbers, which finds the rows after it.
    """
    # NOT INDEXED: the tree of the table itself is asked, whatever state its indices are in.
    question = f"SELECT rowid, {', '.join(columns)} FROM {table} NOT INDEXED"
    walk: Iterator[Row] | None = None
    while True:
        rows: list[Row] = []
        try:
            walk = walk or source.execute(question)  # which reads the first one at once
            for row in walk:
                rows.append(row)  # one by one: what was read before the damage counts
                if len(rows) == _ROWS:
                    break
        except _DAMAGE:
            yield rows
            yield from _by_number(source, f"{question} WHERE rowid > ? ORDER BY rowid LIMIT ?")
            return
        yield rows
        if len(rows) < _ROWS:
            return


def _by_number(source: apsw.Connection, question: str) -> Iterator[list[Row] | None]:
    after = _FIRST
    while True:
        rows = _after(source, question, after, _ROWS) or _after(source, question, after, 1)
        if rows:
            yield rows
            after = max(int(row[0]) for row in rows)
            continue
        if rows is not None:
            return
        yield None
        behind = _behind(source, question, max(after, 0))
        if behind is None:
            return
        after = behind


def _after(source: apsw.Connection, question: str, after: int, count: int) -> list[Row] | None:
    """The next rows; None where they cannot be read, or lie where they do not belong."""
    try:
        rows: list[Row] = source.execute(question, (after, count)).fetchall()
    except _DAMAGE:
        return None
    return None if rows and max(int(row[0]) for row in rows) <= after else rows


def _behind(source: apsw.Connection, question: str, damaged: int) -> int | None:
    """The first readable number after the damaged one: search in growing steps, then back to the edge.

    Numbers of events lie far apart from session to session, so that one leap may pass over a whole history.
    """
    stride = 1
    while _after(source, question, damaged + stride, 1) is None:
        damaged += stride
        stride *= 2
        if damaged > _LAST - stride:
            return None
    sound = damaged + stride
    while sound - damaged > 1:
        middle = (sound + damaged) // 2
        if _after(source, question, middle, 1) is None:
            damaged = middle
        else:
            sound = middle
    return sound
