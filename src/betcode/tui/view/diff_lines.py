"""Renders an edit as removed and added lines."""

import difflib
from collections.abc import Iterator

from betcode.tui.view.spans import Line, fold, shown

_MOST_LINES = 2000  # comparing takes more than linear time
_CONTEXT = 3
_LONG = 2000  # characters; in longer lines no differing words are marked


def diff_lines(old: str, new: str, width: int) -> list[Line]:
    """Return removed lines with a minus, added ones with a plus, and some context."""
    before, after = _lines(old), _lines(new)
    if len(before) + len(after) > _MOST_LINES:
        return [*_marked("-", before, "removed", width), *_marked("+", after, "added", width)]
    lines: list[Line] = []
    for group in difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(_CONTEXT):
        if lines:
            lines.append((("  ⋮", "quiet"),))
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                lines += _marked(" ", before[start:end], "quiet", width)
            elif tag == "replace" and end - start == new_end - new_start == 1 and len(before[start]) < _LONG:
                lines += _changed_words(before[start], after[new_start], width)
            else:
                lines += _marked("-", before[start:end], "removed", width)
                lines += _marked("+", after[new_start:new_end], "added", width)
    return lines


def patch_lines(text: str, width: int) -> list[Line]:
    """Return the lines of a patch."""
    lines: list[Line] = []
    for line in shown(text).split("\n"):
        style = {"+": "added", "-": "removed", "@": "strong"}.get(line[:1], "")
        lines += fold([(line, style)], width)
    return lines


def _changed_words(old: str, new: str, width: int) -> Iterator[Line]:
    """Yield a changed line as old and new, with the differing words marked."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    for mark, line, style in (("- ", old, "removed"), ("+ ", new, "added")):
        middle = (
            (line[:start], style),
            (line[start : len(line) - end], f"{style} changed"),
            (line[len(line) - end :], style),
        )
        for part in fold([span for span in middle if span[0]], max(width - 2, 1)):
            yield (mark, style), *part


def _marked(mark: str, lines: list[str], style: str, width: int) -> Iterator[Line]:
    for line in lines:
        for part in fold([(line, style)] if line else (), max(width - 2, 1)):
            yield (f"{mark} ", style), *part


def _lines(text: str) -> list[str]:
    return shown(text.removesuffix("\n")).split("\n") if text else []
