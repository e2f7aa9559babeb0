"""Which files common programs read and change, as far as their arguments say: for rules that forbid, never to allow."""

from typing import Final

from betcode.rules.commands import Command, names

_READERS: Final = names(
    ". awk base64 bat cat cmp cp cut dd diff egrep fgrep gawk grep gzip head hexdump install jq less ln "
    "md5sum more mv nl od openssl paste rg rsync scp sed sha256sum sort source strings tac tail tar uniq "
    "vi vim view wc xxd yq zcat zip nano"
)
_EDITORS: Final = frozenset(
    {
        "chmod",
        "chown",
        "mkdir",
        "mv",
        "nano",
        "rm",
        "rmdir",
        "shred",
        "tee",
        "touch",
        "truncate",
        "unlink",
        "vi",
        "vim",
        "ed",
        "ex",
    }
)
_LAST_ONLY: Final = frozenset({"cp", "install", "ln", "rsync", "scp"})


def _arguments(command: Command) -> list[str]:
    texts = [word.written if word.value is None else word.value for word in command.words[1:]]
    return [text for text in texts if not text.startswith("-")]


def read_by(command: Command) -> list[str]:
    """Arguments that may be files which the command reads."""
    base = (command.name or "").rpartition("/")[2].lower()
    if base not in _READERS:
        return []
    return [argument.removeprefix("if=").removeprefix("@") for argument in _arguments(command)]


def edited_by(command: Command) -> list[str]:
    """Arguments that may be files which the command changes."""
    base = (command.name or "").rpartition("/")[2].lower()
    arguments = _arguments(command)
    if base in _EDITORS:
        return arguments
    if base in _LAST_ONLY:
        return arguments[-1:]
    if base == "sed" and any((word.value or "").startswith(("-i", "--in-place")) for word in command.words):
        return arguments
    return [argument[3:] for argument in arguments if argument.startswith("of=")] if base == "dd" else []
