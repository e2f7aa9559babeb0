"""Escape untrusted text for terminals: no cursor movement, titles or direction changes."""

import re
import unicodedata

# Invisible characters: soft hyphens, zero-width spaces, fillers of scripts and the blank of Braille.
_UNSEEN = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u2060-\u2064\u2800\u3164\uffa0"
# Controls except tab and newline; C1 controls; line and paragraph separators; marks that reorder text; tag characters,
# which are invisible; and surrogate halves, which no terminal can show.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb"
    f"\ud800-\udfff\U000e0000-\U000e007f{_UNSEEN}]"
)
_TOOL_WIDTH = 100
_MARKS = re.compile(r"^#+ +|\*\*|`|^- |^> ")  # of Markdown, in one line of it
_JOINING = "\u200c\u200d"
_JOINERS = re.compile(f"[{_JOINING}]+")
_ESCAPED_IN_JSON = re.compile(f"[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u206f\ufeff{_UNSEEN}]")


def clean(text: str) -> str:
    """Return the text with every unsafe character made visible; tabs and newlines remain."""
    return _JOINERS.sub(_joined, _UNSAFE.sub(_visible, text.replace("\r\n", "\n")))


def in_a_line(text: str) -> str:
    """Return the text for a sentence or list: line breaks are made visible, so that it cannot imitate our lines."""
    return clean(text).replace("\n", "␊")


def one_line(text: str, width: int) -> str:
    """Return the text on one line of at most `width` columns; an ellipsis marks a cut."""
    flat = " ".join(clean(text).split())
    if columns(flat) <= width:
        return flat
    taken = ""
    used = 0
    for letter in flat:
        used += _columns_of(letter)
        if used > width - 1:
            break
        taken += letter
    return taken.rstrip(_JOINING) + "…"


def without_marks(text: str) -> str:
    """Return the beginning of Markdown text without its marks."""
    return _MARKS.sub("", text)


def tool_called(name: str) -> str:
    """Return the name of a tool, which an agent may have invented, on one line."""
    return one_line(name, _TOOL_WIDTH)


def wrapped(text: str, width: int) -> list[str]:
    """Return the text in lines of at most `width` columns, broken between words if possible."""
    lines: list[str] = []
    line = ""
    for word in clean(text).split():
        if line and columns(line) + 1 + columns(word) <= width:
            line = f"{line} {word}"
            continue
        if line:
            lines.append(line)
        line = ""
        used = 0
        for letter in word:
            used += _columns_of(letter)
            if used > width:
                lines.append(line.rstrip(_JOINING))
                line, used = "", _columns_of(letter)
            line += letter
    return [*lines, line] if line else lines


def ending(text: str, width: int) -> str:
    """Return the text, or as much of its end as fits into `width` columns after an ellipsis."""
    if columns(text) <= width:
        return text
    taken = ""
    used = 1
    for letter in reversed(text):
        used += _columns_of(letter)
        if used > width:
            break
        taken = letter + taken
    while taken and not _columns_of(taken[0]):
        taken = taken[1:]  # a combining mark or joiner whose character was cut
    return "…" + taken


def columns(text: str) -> int:
    """Return the number of columns that a terminal needs for the text."""
    return len(text) if text.isascii() else sum(_columns_of(letter) for letter in text)


def padded(text: str, width: int) -> str:
    """Return the text, padded with spaces to `width` columns."""
    return text + " " * (width - columns(text))


def safe_json(text: str) -> str:
    """Return equivalent JSON in which unsafe characters are escaped."""
    return _ESCAPED_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the symbols of control characters: ␛ for escape
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _joined(match: re.Match[str]) -> str:
    """Keep joiners that some scripts and pictures need; show them next to plain letters, where they only hide."""
    around = match.string[max(match.start() - 1, 0) : match.start()], match.string[match.end() : match.end() + 1]
    if all(letter and not letter.isascii() for letter in around):
        return match[0]
    return "".join(f"\\u{ord(letter):04x}" for letter in match[0])


def _columns_of(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
