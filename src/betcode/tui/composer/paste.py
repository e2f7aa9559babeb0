"""Classifies a paste: short text, long text, or files dropped on the terminal. Checks paths; no other I/O."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from betcode.wording.sizes import readable
from betcode.wording.terminal_text import clean

LONG_LINES = 10
LONG_CHARACTERS = 2000
LIMIT_BYTES = 5_000_000
_PATHS_CHARACTERS = 16 * 1024
_PATHS = 20
_PATH_BEGINS = ("/", "~/", "file://", "'", '"')
_HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ShortText:
    text: str  # as inserted into the draft


@dataclass(frozen=True, slots=True)
class LongText:
    text: str  # as pasted
    lines: int


@dataclass(frozen=True, slots=True)
class DroppedFiles:
    """Possibly dropped files; if they are not files, `text` was pasted."""

    paths: tuple[Path, ...]
    text: str


@dataclass(frozen=True, slots=True)
class TooLong:
    bytes: int

    @property
    def message(self) -> str:
        return (
            f"The pasted text is {readable(self.bytes)}: the limit is {readable(LIMIT_BYTES)}. Use /attach FILE instead"
        )


Pasted = ShortText | LongText | DroppedFiles | TooLong


def classify(pasted: str) -> Pasted:
    """Classify a paste; terminals end its lines with CR."""
    text = _HALVES.sub("\ufffd", pasted.replace("\r\n", "\n").replace("\r", "\n"))
    size = len(text.encode())
    if size > LIMIT_BYTES:
        return TooLong(size)
    if paths := dropped_paths(text):
        return DroppedFiles(paths, text)
    return classify_text(text)


def classify_text(text: str) -> ShortText | LongText:
    """Decide whether text is inserted into the draft or attached to it."""
    lines = text.count("\n") + (not text.endswith("\n"))
    if lines > LONG_LINES or len(text) > LONG_CHARACTERS:
        return LongText(text, lines)
    return ShortText(writable(text))


def dropped_paths(text: str) -> tuple[Path, ...]:
    """Return the absolute paths or file URLs that make up the text; none if it contains anything else.

    Terminals quote names with special characters, escape them with backslashes, or write them unchanged.
    """
    text = text.strip()
    if len(text) > _PATHS_CHARACTERS or not text.startswith(_PATH_BEGINS):
        return ()
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    bare = [_path(line) for line in lines]
    if len(bare) <= _PATHS and all(path is not None and _is_file(path) for path in bare):
        return tuple(path for path in bare if path is not None)
    try:
        words = shlex.split(text)
    except ValueError:
        return ()
    paths = [_path(word) for word in words]
    whole = tuple(path for path in paths if path is not None)
    return whole if 0 < len(whole) == len(words) <= _PATHS else ()


def writable(text: str) -> str:
    """Return the text as the draft may contain it: invisible characters are made visible."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))


def _path(word: str) -> Path | None:
    if word.startswith("file://"):
        parts = urlsplit(word)
        if parts.netloc not in ("", "localhost"):
            return None
        word = unquote(parts.path, errors="surrogateescape")
    if "\0" in word:
        return None
    if word.startswith("~/"):
        return Path(word).expanduser()
    return Path(word) if word.startswith("/") else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # the name is too long
