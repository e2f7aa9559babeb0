"""Read the files that people attach to a message."""

import mimetypes
from collections.abc import Sequence
from pathlib import Path

from betcode.domain.agents.commands import AttachedFile
from betcode.domain.sessions.media_type import kind_of

_READ_AT_MOST_BYTES = 48 * 1024 * 1024  # the daemon's limit for one call


class CannotAttach(Exception):
    """A file cannot be sent; the message is a sentence for the person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def read_files(paths: Sequence[str]) -> tuple[AttachedFile, ...]:
    """Read each file; its type is detected from its content, or else from its extension.

    Raises:
        CannotAttach: a file cannot be read, or they are too large to be sent.
    """
    files = tuple(_read(Path(path)) for path in paths)
    total = sum(len(file.data) for file in files)
    if total > _READ_AT_MOST_BYTES:
        raise CannotAttach(f"The files have {total} bytes in all: attach fewer or smaller files")
    return files


def _read(path: Path) -> AttachedFile:
    try:
        if not path.is_file():
            what = "a directory" if path.is_dir() else "not a regular file" if path.exists() else "missing"
            raise CannotAttach(f"{path} is {what}: attach a file")
        if path.stat().st_size > _READ_AT_MOST_BYTES:
            raise CannotAttach(f"{path} has {path.stat().st_size} bytes: attach a smaller file")
        data = path.read_bytes()
        name = path.name.encode().decode()
    except OSError as trouble:
        raise CannotAttach(f"{path} cannot be read: {trouble.strerror}") from trouble
    except UnicodeEncodeError as trouble:
        raise CannotAttach("A file's name is not UTF-8: rename it") from trouble
    return AttachedFile(name, kind_of(data) or _guessed(name), data)


def _guessed(name: str) -> str:
    """Return the type by the extension, unless the content would show it."""
    kind, encoding = mimetypes.guess_type(name)
    return "" if kind is None or encoding or kind.startswith("image/") or kind.endswith("/pdf") else kind
