"""Highlights code. The highlighter is imported when there is code to render."""

from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Protocol, cast

from betcode.tui.view.spans import Line, Span, shown

_LONGEST = 20_000  # characters; longer code is not highlighted
_STYLES = {
    "Token.Keyword": "code-keyword",
    "Token.Name.Function": "code-name",
    "Token.Name.Class": "code-name",
    "Token.Name.Tag": "code-name",
    "Token.Name.Decorator": "code-name",
    "Token.Literal.String": "code-string",
    "Token.Literal.Number": "code-number",
    "Token.Comment": "code-comment",
    "Token.Generic.Deleted": "removed",
    "Token.Generic.Inserted": "added",
    "Token.Generic.Heading": "strong",
    "Token.Generic.Subheading": "quiet",
}


class _Lexer(Protocol):
    def get_tokens(self, text: str) -> Iterator[tuple[object, str]]: ...


def code_lines(text: str, language: str) -> list[Line]:
    """Return the highlighted lines, not wrapped; plain for an unknown language."""
    text = shown(text)
    lexer = _lexer(language.lower()) if language and len(text) <= _LONGEST else None
    if lexer is None:
        return [((line, "code"),) if line else () for line in text.split("\n")]
    lines: list[Line] = []
    line: list[Span] = []
    for kind, value in lexer.get_tokens(text):
        style = _style(str(kind))
        first, *others = value.split("\n")
        if first:
            line.append((first, style))
        for part in others:
            lines.append(tuple(line))
            line = [(part, style)] if part else []
    if line:
        lines.append(tuple(line))
    line_count = text.count("\n") + 1  # a lexer adds a newline at the end, and drops others
    return lines[:line_count] + [()] * (line_count - len(lines))


def language_of(path: str) -> str:
    """Return the language by the file extension; empty if it is unknown."""
    name = path.rsplit("/", 1)[-1]
    return _BY_ENDING.get(name.rsplit(".", 1)[-1].lower(), "") if "." in name else ""


_BY_ENDING = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "ts": "typescript", "tsx": "tsx",
    "jsx": "jsx", "rs": "rust", "go": "go", "rb": "ruby", "java": "java", "kt": "kotlin", "c": "c", "h": "c",
    "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "cs": "csharp", "sh": "bash", "bash": "bash", "zsh": "zsh",
    "json": "json", "toml": "toml", "yaml": "yaml", "yml": "yaml", "md": "markdown", "html": "html", "css": "css",
    "sql": "sql", "proto": "protobuf", "lua": "lua", "swift": "swift", "php": "php", "xml": "xml", "diff": "diff",
}  # fmt: skip


@lru_cache(maxsize=32)
def _lexer(language: str) -> _Lexer | None:
    lexers = import_module("pygments.lexers")  # imported when there is code
    try:
        return cast("_Lexer", lexers.get_lexer_by_name(language, stripnl=False, ensurenl=True))
    except ValueError:  # unknown language
        return None


@lru_cache(maxsize=512)
def _style(kind: str) -> str:
    while kind:
        if kind in _STYLES:
            return f"code {_STYLES[kind]}"
        kind = kind.rpartition(".")[0]
    return "code"
