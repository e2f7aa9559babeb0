"""Checks the text between the grammar's nodes, so that nothing is lost or hidden there."""

import re
from typing import Final

from tree_sitter import Node

from betcode.rules.syntax.words import WORDS, NotUnderstood

BLANK = re.compile(r"(?:[ \t]|\\\n)*")
BLANK_LINES = re.compile(r"(?:[ \t\n]|\\\n)*")
_JOINS = re.compile(r"(?:\\\n)+")
_WORDY: Final = WORDS | {"command_name", "variable_assignment"}
_REDIRECTS: Final = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_NUMBERED = re.compile(rb"(?:^|[\s;&|()])(?:[0-9]+|\{\w+\})$")
_NUMBER_CHARACTERS = 40
_BEFORE_A_COMMENT: Final = frozenset({b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"("})


def confirm_gaps(source: bytes, node: Node, allowed: re.Pattern[str]) -> None:
    """Check that only blanks are between the children of a node, and that two words are separated.

    Raises:
        NotUnderstood: the shell would see more, or other, words than the grammar did.
    """
    at = node.start_byte
    touching = False
    for child in node.children:
        wordy = child.type in _WORDY
        if not child.is_named and child.end_byte - child.start_byte != len(child.type):
            raise NotUnderstood("something")  # a word that the grammar has merged into a token
        if at == child.start_byte:
            if touching and wordy:
                raise NotUnderstood("a word in pieces")
            if child.type in _REDIRECTS and _NUMBERED.search(source[max(0, at - _NUMBER_CHARACTERS) : at]):
                raise NotUnderstood("a redirection")  # 3<x and {fd}>x have no such word
        touching = wordy or child.type in ("file_redirect", "herestring_redirect")
        gap = source[at : child.start_byte].decode()
        if gap and (not allowed.fullmatch(gap) or _JOINS.fullmatch(gap)):
            raise NotUnderstood("something")
        at = child.end_byte
    if at != node.end_byte and node.children and not BLANK_LINES.fullmatch(source[at : node.end_byte].decode()):
        raise NotUnderstood("something")


def confirm_comment(source: bytes, node: Node) -> None:
    """Check that a comment begins where a word could.

    Raises:
        NotUnderstood: it belongs to a word, as after `x=(a)` and after a joined line.
    """
    before = source[max(0, node.start_byte - 2) : node.start_byte]
    if before[-1:] not in _BEFORE_A_COMMENT or before == b"\\\n":
        raise NotUnderstood("a comment")
