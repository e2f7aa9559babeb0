"""Determines the end of a here-document and whether its text is expanded, independently of the grammar."""

import re

from tree_sitter import Node

from betcode.rules.syntax.words import NotUnderstood, text_of

_DELIMITER = re.compile(r"(['\"]?)([\w.-]+)\1|\\(\w+)")


def expands(source: bytes, start: Node, end: Node, *, tabs: bool) -> bool:
    """Is the text between the two nodes expanded?

    Raises:
        NotUnderstood: the shell would see another end than the grammar did.
    """
    written = text_of(start)
    found = _DELIMITER.fullmatch(written)
    if found is None:
        raise NotUnderstood("the end of a here-document")
    delimiter = found[2] or found[3]
    line_end = source.find(b"\n", start.end_byte)
    lines = source[line_end + 1 : end.end_byte].decode().split("\n")
    ends = [number for number, line in enumerate(lines) if (line.lstrip("\t") if tabs else line) == delimiter]
    if line_end < 0 or ends != [len(lines) - 1] or source[end.end_byte : end.end_byte + 1] not in (b"", b"\n"):
        raise NotUnderstood("the end of a here-document")
    return written == delimiter
