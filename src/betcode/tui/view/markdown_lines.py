"""Renders Markdown as lines. The parser is imported when there is something to parse."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from betcode.tui.view.code import code_lines
from betcode.tui.view.pieces import Piece, PieceKind, Pieces
from betcode.tui.view.spans import Line, Span, fold, indented, shown, wrap
from betcode.tui.view.table_lines import table_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEEPEST = 8  # nesting of quotes and lists; deeper ones are shown as plain text
_TOO_DEEP = re.compile(r"^(?:[ \t]*(?:>|[-*+] |\d{1,9}[.)] )){9,}", re.MULTILINE)
_TOO_MANY_MARKS = re.compile(r"[\[*_~`!]{60,}")  # parsing these takes more than linear time
_NARROWEST = 8


def is_loaded() -> bool:
    """Whether the Markdown parser is already imported."""
    return "markdown_it" in sys.modules and "pygments.lexers" in sys.modules


def load() -> None:
    """Import the parser and the highlighter; this takes a tenth of a second, once."""
    import_module("pygments.lexers")
    _parser()


class MarkdownLines:
    """The lines of growing text: final pieces are drawn once, and only the last piece is drawn again."""

    def __init__(self, width: int, margin: Line = ()) -> None:
        self._width = width
        self._margin = margin  # before every line, and not part of the width
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._pieces = Pieces()
        self._lines: list[Line] = []
        self._settled = 0  # the number of final lines

    def lines(self, text: str) -> list[Line]:
        """Return the lines of the text; the next call changes this list."""
        if not text.startswith(self._text):
            self._begin()
        self._text = text
        self._pieces.take(text)
        del self._lines[self._settled :]
        for piece in self._pieces.settled:
            self._draw(piece)
        self._pieces.settled.clear()
        self._settled = len(self._lines)
        if self._pieces.last:
            self._draw(self._pieces.last)
        return self._lines

    def _draw(self, piece: Piece) -> None:
        if self._lines and not piece.continues:
            self._lines.append(self._margin)
        margin = self._margin
        self._lines += [(*margin, *line) for line in piece_lines(piece, self._width)]


def plain_lines(text: str, width: int) -> list[Line]:
    """Return the text as it is, wrapped."""
    return [part for line in shown(text).split("\n") for part in wrap([(line, "")], width)]


def piece_lines(piece: Piece, width: int) -> list[Line]:
    match piece.kind:
        case PieceKind.CODE:
            return _code(piece.text, piece.language, width)
        case PieceKind.PLAIN:
            return plain_lines(piece.text, width)
        case PieceKind.PROSE:
            return markdown_lines(piece.text, width)


def markdown_lines(text: str, width: int) -> list[Line]:
    """Return the lines of one piece of prose; as plain text if it cannot be parsed."""
    if _TOO_DEEP.search(text) or _TOO_MANY_MARKS.search(text):
        return plain_lines(text, width)
    tokens = _parser().parse(text)
    if any(token.level > _DEEPEST * 2 for token in tokens):
        return plain_lines(text, width)
    return _Drawing(tokens).blocks(width)


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # Pieces are independent, so link references between them are shown as plain text; so is HTML.
    parser = MarkdownIt("commonmark", {"maxNesting": 40, "html": False}).enable(["table", "strikethrough"])
    return parser.disable(["reference", "html_block", "html_inline"])


class _Drawing:
    """Draws the tokens in one pass."""

    def __init__(self, tokens: "list[Token]") -> None:
        self._tokens = tokens
        self._at = 0

    def blocks(self, width: int, end: str = "", *, tight: bool = False) -> list[Line]:
        """Return the lines of all blocks up to the closing token of their container."""
        width = max(width, _NARROWEST)
        lines: list[Line] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token.type == end:
                break
            block = self._block(token, width)
            if lines and block and not tight:
                lines.append(())
            lines += block
        return lines

    def _block(self, token: "Token", width: int) -> list[Line]:
        match token.type:
            case "heading_open":
                style = "heading" if token.tag in ("h1", "h2") else "subheading"
                return wrap(self._inline(style), width)
            case "paragraph_open":
                return wrap(self._inline(""), width)
            case "inline":
                return wrap(inline_spans(token, ""), width)
            case "fence" | "code_block":
                return _code(token.content.removesuffix("\n"), (token.info.split() or [""])[0], width)
            case "blockquote_open":
                bar = ("▎ ", "quiet")
                inner = self.blocks(width - 2, "blockquote_close")
                return [(bar, *((text, f"quote {style}".strip()) for text, style in line)) for line in inner]
            case "bullet_list_open":
                return self._list(width, "bullet_list_close", None)
            case "ordered_list_open":
                return self._list(width, "ordered_list_close", int(token.attrs.get("start", 1)))
            case "table_open":
                return table_lines(self._rows(), width)
            case "hr":
                return [(("─" * min(width, 40), "quiet"),)]
            case _:
                return []

    def _inline(self, style: str) -> list[Span]:
        """Return the content of the current heading or paragraph."""
        spans = inline_spans(self._tokens[self._at], style)
        self._at += 2
        return spans

    def _list(self, width: int, end: str, number: int | None) -> list[Line]:
        is_tight = self._is_tight()
        lines: list[Line] = []
        while self._at < len(self._tokens) and self._tokens[self._at].type != end:
            self._at += 1  # list_item_open
            mark = "• " if number is None else f"{number}. "
            inner = self.blocks(width - len(mark), "list_item_close", tight=is_tight) or [()]
            if lines and not is_tight:
                lines.append(())
            lines += indented(inner, (mark, "mark"), (" " * len(mark), ""))
            number = None if number is None else number + 1
        self._at += 1
        return lines

    def _is_tight(self) -> bool:
        level = self._tokens[self._at].level + 1
        for token in self._tokens[self._at :]:
            if token.level < level - 1:
                break
            if token.type == "paragraph_open" and token.level == level:
                return token.hidden
        return True

    def _rows(self) -> list[list[list[Span]]]:
        rows: list[list[list[Span]]] = []
        while (token := self._tokens[self._at]).type != "table_close":
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(inline_spans(token, ""))
            self._at += 1
        self._at += 1
        return rows


_MARKS = {"strong": "strong", "em": "emphasis", "s": "struck"}


def inline_spans(token: "Token", style: str) -> list[Span]:
    """Return sanitized spans; a link shows its target, which is otherwise invisible."""
    return [span for span in _inline(token, style) if span[0]]


def _inline(token: "Token", style: str) -> Iterator[Span]:
    names = [style] if style else []
    links: list[tuple[str, list[str]]] = []
    for child in token.children or ():
        now = " ".join(names)
        kind, _, edge = child.type.rpartition("_")
        match child.type:
            case "softbreak" | "hardbreak":  # agents mean their line breaks
                yield "\n", now
            case "code_inline":
                yield shown(child.content), f"{now} inline-code".strip()
            case "link_open":
                links.append((str(child.attrs.get("href", "")), []))
                names.append("link")
            case "link_close":
                names.remove("link")
                target, words = links.pop()
                if "".join(words) not in (target, target.removeprefix("mailto:")):
                    yield f" ({shown(target)})", " ".join([*names, "target"])
            case "image":
                yield f"[{shown(child.content)}] ({shown(str(child.attrs.get('src', '')))})", f"{now} link".strip()
            case _ if kind in _MARKS:
                names.append(_MARKS[kind]) if edge == "open" else names.remove(_MARKS[kind])
            case _:
                if links:
                    links[-1][1].append(child.content)
                yield shown(child.content).replace("\n", " "), now


def _code(text: str, language: str, width: int) -> list[Line]:
    """Return the code with a bar before it, to distinguish it from prose without colours."""
    bar = ("│ ", "quiet")
    return [(bar, *part) for line in code_lines(text, language) for part in fold(line, max(width - 2, 1))]
