"""Converts grammar nodes to words, and rejects what the grammar missed."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from betcode.rules.syntax.commands import Word

WORDS: Final = frozenset(
    {
        "word",
        "number",
        "string",
        "raw_string",
        "ansi_c_string",
        "concatenation",
        "simple_expansion",
        "expansion",
        "command_substitution",
        "process_substitution",
        "brace_expression",
        "arithmetic_expansion",
        "variable_name",
    }
)
_EXPANSIONS: Final = frozenset({"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"})
_BARE = re.compile(r"""(?:[^\s\\'"$`|&;<>()]|\\[^\n])+""")
_UNSETTLED = re.compile(r"[*?\[\]{}]|^[~=]|[:=]~")  # globs, braces, homes, and zsh's =command
_UNSETTLED_BUT_BRACES = re.compile(r"[*?\[\]]|^[~=]|[:=]~")
_BRACES = re.compile(r",|\.\.")  # what braces must hold to be expanded
_SIMPLE = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!_-])")
# Without subscripts, indirection and @P, all of which can run a variable's content.
_BRACED = re.compile(r"\$\{#?(?:[A-Za-z_]\w*|[0-9]+|[@*#?])(?:(?::?[-+?]|%%?|##?|//?|\^\^?|,,?)[\w./*?:,@ ^%+=-]*)?\}")
_NUMBERS = re.compile(r"\$\(\([\s0-9+*/%()<>=!&|^~?:,-]*\)\)")  # a variable in here is evaluated, not just replaced
_MANY = re.compile(r"\$\{?@")  # as many words as there are arguments, even in quotes
_IN_QUOTES = re.compile(r'(?:[^\\"$`]|\\.)*', re.DOTALL)
_IN_HEREDOC = re.compile(r"(?:[^\\$`]|\\.)*", re.DOTALL)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_ANSI_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)

_COARSE = re.compile(r"[;&|\n(){}`]|\$\(|<\(|>\(")
_COARSE_CHARACTERS = 40_000


class NotUnderstood(Exception):
    """Part of a command whose meaning is uncertain; the message names it."""


def text_of(node: Node) -> str:
    return (node.text or b"").decode()


def hidden_character(text: str) -> str | None:
    """Return the name of a character that hides part of a text, such as one that changes the writing direction."""
    if text.isascii() and text.isprintable():
        return None
    for character in text:
        if character not in "\n\t" and unicodedata.category(character)[0] == "C":
            return f"U+{ord(character):04X}"
        if character != "\n" and unicodedata.category(character) in ("Zl", "Zp"):
            return f"U+{ord(character):04X}"
    return None


def word(node: Node) -> Word:
    """Convert one word.

    Raises:
        NotUnderstood: the grammar's interpretation of it cannot be confirmed.
    """
    text = text_of(node)
    value = _value(node, text)
    return Word(text, value, value is not None or (node.type == "string" and not _MANY.search(text)))


def substitutions(node: Node) -> list[Node]:
    """Return the commands inside a word, outermost only."""
    if node.type in ("command_substitution", "process_substitution"):
        return [node]
    return [found for child in node.children for found in substitutions(child)]


def _value(node: Node, text: str, *, braces: bool | None = None) -> str | None:
    match node.type:
        case "word" | "number" | "variable_name":
            return _bare(text, braces=bool(_BRACES.search(text)) if braces is None else braces)
        case "raw_string":
            if len(text) < 2 or text[0] != "'" or text[-1] != "'" or "'" in text[1:-1]:
                raise NotUnderstood("quotes")
            return text[1:-1]
        case "string":
            return _quoted(node, text)
        case "ansi_c_string":
            return _ansi(text)
        case "concatenation":
            return _joined(node, text)
        case "simple_expansion":
            _expect(_SIMPLE, text, "an expansion")
        case "expansion":
            _expect(_BRACED, text, "an expansion")
        case "arithmetic_expansion":
            _expect(_NUMBERS, text, "arithmetic")
        case "brace_expression" | "command_substitution" | "process_substitution":
            pass
        case other:
            raise NotUnderstood(other.replace("_", " "))
    return None


def _expect(expression: re.Pattern[str], text: str, what: str) -> None:
    if not expression.fullmatch(text):
        raise NotUnderstood(what)


def _bare(text: str, *, braces: bool) -> str | None:
    _expect(_BARE, text, "a word")
    if text.startswith("#"):
        raise NotUnderstood("a comment")
    if any(unicodedata.category(character) == "Zs" for character in text if not character.isascii()):
        raise NotUnderstood("an unusual space character")
    without = re.sub(r"\\.", "", text)
    if (_UNSETTLED if braces else _UNSETTLED_BUT_BRACES).search(without):
        return None
    return re.sub(r"\\(.)", r"\1", text)


def _quoted(node: Node, text: str) -> str | None:
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        raise NotUnderstood("quotes")
    if covered_by_expansions(node, text, 1, len(text.encode()) - 1, _IN_QUOTES):
        return None
    return re.sub(r"\\([$`\"\\\n])", lambda found: "" if found[1] == "\n" else found[1], text[1:-1])


def covered_by_expansions(node: Node, text: str, start: int, end: int, rest: re.Pattern[str]) -> bool:
    """Return whether the text has expansions; the text between them must be plain, or the grammar has missed one."""
    raw = text.encode()
    found = [child for child in node.children if child.type in _EXPANSIONS]
    at = start
    for child in found:
        _value(child, text_of(child).lstrip())  # the grammar takes a space before it along
        begin = child.start_byte - node.start_byte
        _expect(rest, raw[at:begin].decode(), "an expansion in quotes")
        at = child.end_byte - node.start_byte
    _expect(rest, raw[at:end].decode(), "an expansion in quotes")
    return bool(found)


def in_heredoc(node: Node) -> None:
    """Confirm what the grammar found in a here-document whose text is expanded."""
    text = text_of(node)
    if "\\\n" in text:
        raise NotUnderstood("a here-document with joined lines")
    covered_by_expansions(node, text, 0, len(text.encode()), _IN_HEREDOC)


def _ansi(text: str) -> str | None:
    inside = text[2:-1]
    if not text.startswith("$'") or not text.endswith("'") or re.sub(r"\\.", "", inside, flags=re.DOTALL).count("'"):
        raise NotUnderstood("quotes")

    def decoded(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] in "xu":
            return chr(int(code[1:], 16)) if len(code) > 1 else found[0]
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        return _ANSI.get(code, code if code in "\\'\"?" else found[0])

    value = _ANSI_ESCAPE.sub(decoded, inside)
    return None if not value.isascii() or "\0" in value or "\\c" in inside or "\\U" in inside else value


def _joined(node: Node, text: str) -> str | None:
    at = node.start_byte
    values: list[str | None] = []
    for child in node.children:
        if child.start_byte != at:
            raise NotUnderstood("a word in pieces")
        at = child.end_byte
        values.append(_value(child, text_of(child), braces=bool(_BRACES.search(text))))
    if at != node.end_byte or not values:
        raise NotUnderstood("a word in pieces")
    # A tilde or = is special only at the beginning of the word, but a brace or bracket may close in a later piece.
    return None if None in values else "".join(value for value in values if value is not None)


def coarse_pieces(text: str) -> Iterator[str]:
    """Return possible commands in a text that could not be parsed: enough to find denials, never to allow."""
    for piece in _COARSE.split(text[:_COARSE_CHARACTERS]):
        stripped = " ".join(piece.split()).strip("\"' ")
        if stripped:
            yield stripped
