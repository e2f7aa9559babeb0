"""Splits text that is still being streamed into pieces, all but the last of which are final.

The cuts depend only on the text and not on how it arrived, so the same text always looks the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

_LIMIT = 6000  # characters; a longer piece is not prose, and would be parsed repeatedly
_CODE_LINES = 80
_UNDECIDED = 200  # characters after which an unfinished line can no longer become another construct
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_ITEM = re.compile(r"[-*+]|\d{1,9}[.)]")


class PieceKind(Enum):
    PROSE = auto()  # Markdown
    PLAIN = auto()  # the rest of a piece that is too long for Markdown
    CODE = auto()


@dataclass(frozen=True, slots=True)
class Piece:
    kind: PieceKind
    text: str
    language: str = ""
    continues: bool = False  # no empty line before it


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The kind of a piece and its position."""

    at: int
    kind: PieceKind = PieceKind.PROSE
    fence: str = ""  # the text that closes it
    language: str = ""
    continues: bool = False


class Pieces:
    """Accepts growing text; `settled` are the pieces that this made final, and `last` may still change."""

    def __init__(self) -> None:
        self.settled: list[Piece] = []
        self.last: Piece | None = None
        self._now = _Beginning(0)

    def take(self, text: str) -> None:
        """Process the whole text; it begins with the text of the call before."""
        while True:
            end, following = self._code_end(text) if self._now.kind is PieceKind.CODE else self._prose_end(text)
            piece = self._piece(text[self._now.at : end])
            if following is None:
                self.last = piece
                return
            if piece is not None:
                self.settled.append(piece)
            self._now = following

    def _piece(self, text: str) -> Piece | None:
        now = self._now
        text = text.removesuffix("\n") if now.kind is PieceKind.CODE else text.strip("\n")
        if not text.strip() and (now.kind is not PieceKind.CODE or now.continues):
            return None
        return Piece(now.kind, text, now.language, now.continues)

    def _code_end(self, text: str) -> tuple[int, _Beginning | None]:
        """Return the end of the code and the next beginning; None while it may continue."""
        now = self._now
        for number, (start, end, line) in enumerate(_lines(text, now.at)):
            bare = line.strip()
            if bare.startswith(now.fence) and not bare.strip(now.fence[0]) and len(line) - len(line.lstrip(" ")) < 4:
                return start, _Beginning(end) if _is_whole(text, end) else None
            if number >= _CODE_LINES or end - now.at > _LIMIT:
                cut = start if start > now.at else now.at + _LIMIT
                return cut, _Beginning(cut, PieceKind.CODE, now.fence, now.language, continues=True)
        return len(text), None

    def _prose_end(self, text: str) -> tuple[int, _Beginning | None]:
        begin = self._now.at
        begun = after_blank = False
        for start, end, line in _lines(text, begin):
            if not _is_whole(text, end) and len(line) <= _UNDECIDED:
                break
            fence = _FENCE.match(line) if len(line) <= _UNDECIDED else None
            if fence and not ("`" in fence[2] and fence[1][0] == "`") and not self._is_in_a_list(text, start):
                words = fence[2].split()
                return start, _Beginning(end, PieceKind.CODE, fence[1], words[0] if words else "")
            if begun and (_HEADING.match(line) or (after_blank and line[:1] not in ("", " ", "\t", "\r"))):
                return start, _Beginning(start)
            if end - begin > _LIMIT:
                cut = start if start > begin else begin + _LIMIT
                return cut, _Beginning(cut, PieceKind.PLAIN, continues=True)
            begun = begun or bool(line.strip())
            after_blank = not line.strip()
        return len(text), None

    def _is_in_a_list(self, text: str, start: int) -> bool:
        """Whether indented code is part of a list item."""
        if text[start] != " ":
            return False
        above = text[self._now.at : start].split("\n")
        return any(_ITEM.match(line) for line in above)


def _is_whole(text: str, end: int) -> bool:
    return text[end - 1] == "\n"


def _lines(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    while start < len(text):
        found = text.find("\n", start)
        end = len(text) if found < 0 else found + 1
        yield start, end, text[start:end].removesuffix("\n").removesuffix("\r")
        start = end
