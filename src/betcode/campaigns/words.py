"""Find paths in the words of a command, wherever they may be hidden, for any program."""

import re
from collections.abc import Iterator, Sequence

from betcode.campaigns.paths import Confinement, shown
from betcode.domain.obey.campaign_errors import CommandRefused

WORD_BYTES = 32 * 1024
COMMAND_BYTES = 128 * 1024
_WORDS = 1000
# `--file=x`, `@x`, `rev:x`, `a,x`: the text after these may be a path, and so may the text between two of them.
_BEGINS_A_PATH = re.compile(r"[=@:,]+")
_BETWEEN = re.compile(r"[=@:,;|&<>(){}\[\]'\"`\s]+")
_BUNDLE = re.compile(r"-[A-Za-z0-9]+")
# Addresses of other machines are no paths; a file:// is one.
_ADDRESS = re.compile(r"(?:^|(?<=[\s=]))(?:https?|ssh|git)://[A-Za-z0-9][A-Za-z0-9._~:/?#@%+=&-]*(?=\s|$)")
_STRANGE = ("..", "@-")  # in none of them


def refuse_unusable(argv: Sequence[str]) -> None:
    """Raise CommandRefused for words that no program should get."""
    if len(argv) > _WORDS or sum(len(word.encode(errors="replace")) for word in argv) > COMMAND_BYTES:
        raise CommandRefused(f"The command is too long: at most {_WORDS} words and {COMMAND_BYTES} bytes")
    for word in argv:
        if "\0" in word or len(word) > WORD_BYTES:
            raise CommandRefused(f"The word {shown(word)} is too long, or has a NUL in it")
        try:
            word.encode()
        except UnicodeEncodeError:
            raise CommandRefused(f"The word {shown(word)} is not text") from None


def before_operands(words: Sequence[str]) -> Iterator[str]:
    """Return the words that may be options: up to a -- that cannot be the value of an option itself."""
    before = ""
    for word in words:
        if word == "--" and not before.startswith("-"):
            return
        yield word
        before = word


def refuse_leaving(place: Confinement, word: str) -> None:
    """Raise CommandRefused if anything in a word is, or may be, a path that leaves the root."""
    rest = _ADDRESS.sub(lambda found: found[0] if any(each in found[0] for each in _STRANGE) else "", word)
    for piece, is_a_name in _pieces(rest):
        if not is_a_name and not place.is_there(piece):
            continue  # a word of a sentence
        try:
            place.resolve(piece)
        except CommandRefused as refusal:
            raise CommandRefused(_with_advice(word, piece, refusal.message)) from None


def _pieces(word: str) -> Iterator[tuple[str, bool]]:
    """Yield possible paths, and whether each looks like one; otherwise it is one only if there is such a file."""
    yield word, _looks_like_a_path(word)
    for found in _BEGINS_A_PATH.finditer(word):
        rest = word[found.end() :]
        if rest:
            # A path in a git revision need not exist in the root: HEAD:secrets
            in_a_revision = found[0].endswith(":") and not any(letter.isspace() for letter in rest)
            yield rest, in_a_revision or _looks_like_a_path(rest)
    for piece in _BETWEEN.split(word):
        if piece:
            yield piece, _looks_like_a_path(piece)
    if bundle := _BUNDLE.match(word):
        for at in range(2, min(bundle.end(), len(word) - 1) + 1):
            yield word[at:], _looks_like_a_path(word[at:])


def _looks_like_a_path(piece: str) -> bool:
    return "/" in piece or "." in piece or piece.startswith("~")


def _with_advice(word: str, piece: str, message: str) -> str:
    if word == piece:
        return message
    advice = "; write the option and its value as two words" if _BUNDLE.match(word) else ""
    return f"{message} (in the word {shown(word)}{advice})"
