"""Lines of sanitized text with style names and a known width, not yet coloured.

All foreign text passes `shown` before it is drawn; there is no other way into a line.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len

from betcode.wording.terminal_text import clean

Span = tuple[str, str]  # a text and its style names, separated by spaces
Line = tuple[Span, ...]

# Terminals disagree about the width of these: some draw a joined family as one picture of two columns, others as three
# pictures, and a heart with a selector in one column or in two. Without them all agree.
_JOINED = re.compile("[\u200d\ufe00-\ufe0f]|(?<=[\u2600-\u27bf\U0001f300-\U0001faff])[\U0001f3fb-\U0001f3ff]")
_LONE_TONE = re.compile("[\U0001f3fb-\U0001f3ff]")
_PLAIN = re.compile("[\x20-\x7e\n]*")
# Combining marks; a thousand of them would cover the whole screen.
_MARKS_IN_A_ROW = 4
_TAB = 4
_CJK = (
    "\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
_TOKENS = re.compile(f"\n| +|[{_CJK}]|[^ \n{_CJK}]+")


def shown(text: str) -> str:
    """Return the text as it may be drawn: without control sequences, and with an unambiguous width."""
    if _PLAIN.fullmatch(text):
        return text
    text = clean(text)
    if "\t" in text:
        text = text.expandtabs(_TAB)
    if text.isascii():
        return text
    return _few_marks(_LONE_TONE.sub("▫", _JOINED.sub("", text)))


def _few_marks(text: str) -> str:
    shown_characters: list[str] = []
    marks = 0
    for letter in text:
        if letter.isascii() or cell_len(letter):
            marks = 0
        else:
            marks += 1
            if marks > _MARKS_IN_A_ROW:
                continue
        shown_characters.append(letter)
    return "".join(shown_characters)


def width_of(line: Iterable[Span]) -> int:
    """Return the width in columns."""
    return sum(cell_len(text) for text, _ in line)


def text_of(line: Iterable[Span]) -> str:
    return "".join(text for text, _ in line)


def cut(text: str, width: int) -> str:
    """Return text from `shown`, on one line of at most this width; an ellipsis replaces the rest."""
    flat = " ".join(text[: width * 8 + 80].split())
    if cell_len(flat) <= width:
        return flat
    return _split_at(flat, max(width - 1, 0))[0] + "…" if width > 0 else ""


def cut_line(line: Sequence[Span], width: int) -> Line:
    """Return the part of the line that fits."""
    if width_of(line) <= width:
        return tuple(line)
    shown_characters: list[Span] = []
    available = width - 1
    for text, style in line:
        size = cell_len(text)
        if size > available:
            shown_characters.append((_split_at(text, available)[0] + "…", style))
            break
        shown_characters.append((text, style))
        available -= size
    return tuple(shown_characters)


def fold(line: Sequence[Span], width: int) -> list[Line]:
    """Break a line of code or output at the width; spaces are preserved."""
    if width_of(line) <= width:
        return [tuple(line)]
    lines: list[Line] = []
    current: list[Span] = []
    available = width
    for text, style in line:
        start = 0
        for end in _breaks(text, available, width):
            if end > start:
                current.append((text[start:end], style))
            lines.append(tuple(current))
            current, available, start = [], width, end
        if start < len(text):
            current.append((text[start:], style))
            available -= cell_len(text[start:])
    return [*lines, tuple(current)]


def _breaks(text: str, available: int, width: int) -> Iterator[int]:
    """Yield the positions of line breaks, in linear time."""
    if text.isascii():
        yield from range(available, len(text), width)
        return
    for index, letter in enumerate(text):
        size = cell_len(letter)
        if size > available:
            yield index
            available = width
        available -= size


def wrap(spans: Iterable[Span], width: int) -> list[Line]:
    """Wrap prose between words if possible, and at newlines."""
    spans = list(spans)
    if len(spans) == 1 and _fits_as_it_is(spans[0][0], width):
        return [(spans[0],)]
    wrapping = _Wrapping(max(width, 1))
    for text, style in spans:
        for part in _TOKENS.findall(text):
            wrapping.take(part, style)
    return wrapping.finish()


def _fits_as_it_is(text: str, width: int) -> bool:
    """Whether no wrapping is needed, as for most table cells and list items."""
    is_spaced = "  " in text or "\n" in text or text[:1] == " " or text[-1:] == " "
    return bool(text) and len(text) <= width and not is_spaced and cell_len(text) <= width


def indented(lines: Iterable[Line], first: Span, rest: Span) -> Iterator[Line]:
    """Yield the lines with `first` before the first one and `rest` before the others."""
    before = first
    for line in lines:
        yield (before, *line)
        before = rest


class _Wrapping:
    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[Line] = []
        self._line: list[Span] = []
        self._used = 0
        self._space: Span | None = None
        self._word: list[Span] = []
        self._word_width = 0

    def take(self, text: str, style: str) -> None:
        if text == "\n":
            self._end_word()
            self._break()
        elif text[0] == " ":
            self._end_word()
            self._space = (" ", style)
        elif len(text) == 1 and cell_len(text) == 2:  # a line may be broken between wide characters
            self._end_word()
            self._word, self._word_width = [(text, style)], 2
            self._end_word()
        else:
            self._word.append((text, style))
            self._word_width += cell_len(text)

    def finish(self) -> list[Line]:
        self._end_word()
        if self._line or not self._lines:
            self._break()
        return self._lines

    def _end_word(self) -> None:
        if not self._word:
            return
        space = 1 if self._space and self._line else 0
        if self._used + space + self._word_width > self._width and self._line:
            self._break()
            space = 0
        if space and self._space:
            self._line.append(self._space)
            self._used += 1
        self._space = None
        if self._word_width <= self._width:
            self._line += self._word
            self._used += self._word_width
        else:
            *full, last = fold(self._word, self._width)
            self._lines += full
            self._line, self._used = list(last), width_of(last)
        self._word, self._word_width = [], 0

    def _break(self) -> None:
        self._lines.append(joined(self._line))
        self._line, self._used, self._space = [], 0, None


def joined(spans: Iterable[Span]) -> Line:
    """Merge adjacent spans of the same style."""
    line: list[Span] = []
    for text, style in spans:
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + text, style)
        else:
            line.append((text, style))
    return tuple(line)


def _split_at(text: str, width: int) -> tuple[str, str]:
    """Split before the first character beyond the width; combining marks stay with their character."""
    if text.isascii():
        return text[:width], text[width:]
    used = 0
    for index, letter in enumerate(text):
        used += cell_len(letter)
        if used > width:
            return text[:index], text[index:]
    return text, ""
