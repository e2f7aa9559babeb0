"""The files that common programs read and change, from their arguments. Used to deny, never to allow."""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from betcode.rules.syntax.commands import SimpleCommand, names

_READERS: Final = names(
    ". awk base64 bat cat cmp cp cut dd diff egrep fgrep gawk grep gzip head hexdump install jq less ln "
    "md5sum more mv nl od openssl paste rg rsync scp sed sha256sum sort source strings tac tail tar uniq "
    "vi vim view wc xxd yq zcat zip nano"
)
_EDITORS: Final = names(
    "chmod chown ed ex gzip mkdir mv nano rm rmdir shred tar tee touch truncate unlink unzip vi vim zip"
)
_LAST_ONLY: Final = frozenset({"cp", "install", "ln", "rsync", "scp", "uniq"})
# With one of these options, every file that they name may be written.
_WRITING: Final[Mapping[str, tuple[str, str]]] = {
    "cp": ("t", "--t"),
    "curl": ("oOcD", "--"),
    "install": ("tD", "--t"),
    "ln": ("t", "--t"),
    "openssl": ("", "-"),
    "sed": ("i", "--i"),
    "sort": ("o", "--o"),
    "tree": ("o", "--o"),
    "wget": ("oOaP", "--"),
    "yq": ("i", "--i"),
}
TOUCHES_NO_FILES: Final = names(
    ": [ basename break continue dirname echo exit expr false printf pwd return seq sleep test true"
)
_ADDRESS = re.compile(r"file:(?://[^/]*)?(/.*)", re.IGNORECASE | re.DOTALL)
_PIECES = re.compile(r"[:=,@]")
_PIECES_AT_MOST = 8
_LETTERS_AT_MOST = 24  # of short options in one word


def arguments(command: SimpleCommand) -> list[str]:
    """All that may be a file: operands, and the values of options."""
    texts = [word.written if word.value is None else word.value for word in command.words[1:]]
    texts = [text for text in texts if not text.startswith(("--exclude=", "--exclude-dir=", "--ignore="))]
    return [found for text in texts for found in _named(text)]


def _named(text: str) -> Iterator[str]:
    if (found := _ADDRESS.search(text)) is not None:
        yield unquote(found[1])
    if not text.startswith("-"):
        yield text.removeprefix("@")
    if "=" in text:
        yield text.partition("=")[2].removeprefix("@").removeprefix("<")
    if text.startswith("-") and not text.startswith("--"):
        yield from (text[at:].removeprefix("@") for at in range(2, min(len(text), _LETTERS_AT_MOST)))


def read_by(command: SimpleCommand) -> list[str]:
    """Arguments that may be files which the command reads."""
    return arguments(command) if command.base in _READERS else []


def edited_by(command: SimpleCommand) -> list[str]:
    """Arguments that may be files which the command changes."""
    base = command.base
    if base in _EDITORS or (base in _WRITING and _writes(command, *_WRITING[base])):
        return arguments(command)
    if base in _LAST_ONLY:
        operands = [word for word in command.words[1:] if not (word.value or word.written).startswith("-")]
        return [word.written if word.value is None else word.value for word in operands[-1:]]
    if base == "dd":
        return [argument[3:] for argument in arguments(command) if argument.startswith("of=")]
    return []


def changed_by(command: SimpleCommand) -> list[str]:
    """Return the arguments that may be files that are created, changed or removed; a copied file keeps its name."""
    return arguments(command) if command.base in _LAST_ONLY else edited_by(command)


def mentioned_by(command: SimpleCommand) -> list[str]:
    """Return the arguments of an unknown program: it may do anything to a file of that name."""
    if is_known(command):
        return []
    given = arguments(command)
    # HEAD:file, host:file, type=bind,source=file, name@file
    return given + [piece for text in given if _PIECES.search(text) for piece in _PIECES.split(text, _PIECES_AT_MOST)]


def is_known(command: SimpleCommand) -> bool:
    """Return whether the program's effect on its file arguments is known."""
    return command.base in _READERS or command.base in _EDITORS or command.base in TOUCHES_NO_FILES


def _writes(command: SimpleCommand, letters: str, long: str) -> bool:
    values = [word.value or "" for word in command.words[1:]]
    return any(
        value.startswith(long)
        or (value.startswith("-") and not value.startswith("--") and any(letter in value for letter in letters))
        for value in values
    )
