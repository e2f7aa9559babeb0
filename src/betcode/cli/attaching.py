"""Files of the command line as attachments of a message."""

import mimetypes
from collections.abc import Sequence
from pathlib import Path

from betcode.cli.exit_codes import CommandFailed, ExitCode
from betcode.domain.attachments import kind_of
from betcode.domain.commands import AttachedFile

_READ_AT_MOST_BYTES = 48 * 1024 * 1024  # what a daemon takes in one call at all


def read_files(paths: Sequence[str]) -> tuple[AttachedFile, ...]:
    """Each under its last name; what it is shows in its bytes, else in its ending.

    Raises:
        CommandFailed: one cannot be read, or they are too large to be sent.
    """
    files = tuple(_read(Path(path)) for path in paths)
    total = sum(len(file.data) for file in files)
    if total > _READ_AT_MOST_BYTES:
        raise CommandFailed(f"The files have {total} bytes in all: attach less", ExitCode.INVALID_ARGUMENTS)
    return files


def _read(path: Path) -> AttachedFile:
    try:
        if not path.is_file():
            what = "a directory" if path.is_dir() else "no plain file" if path.exists() else "not there"
            raise CommandFailed(f"{path} is {what}: attach a file", ExitCode.INVALID_ARGUMENTS)
        if path.stat().st_size > _READ_AT_MOST_BYTES:
            raise CommandFailed(f"{path} has {path.stat().st_size} bytes: attach less", ExitCode.INVALID_ARGUMENTS)
        data = path.read_bytes()
        name = path.name.encode().decode()
    except OSError as trouble:
        raise CommandFailed(f"{path} cannot be read: {trouble.strerror}", ExitCode.INVALID_ARGUMENTS) from trouble
    except UnicodeEncodeError as trouble:
        raise CommandFailed("A file's name is not UTF-8: rename it", ExitCode.INVALID_ARGUMENTS) from trouble
    return AttachedFile(name, kind_of(data) or _guessed(name), data)


def _guessed(name: str) -> str:
    """What its ending says, unless its bytes would show that."""
    kind, encoding = mimetypes.guess_type(name)
    return "" if kind is None or encoding or kind.startswith("image/") or kind.endswith("/pdf") else kind
