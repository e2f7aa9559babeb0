"""Files that people ask for: whole under their names, or not there."""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import BinaryIO

_FORMATS = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}


class NotWritten(Exception):
    """Nothing can be written there; the message says why."""


def format_of(file: Path) -> str:
    """What a history is exported as into a file with this ending."""
    return _FORMATS.get(file.suffix.lower(), "json")


async def write_whole(pieces: AsyncGenerator[bytes, None], file: Path) -> None:
    """It appears under its name only when it is complete, readable by its owner alone.

    Raises:
        NotWritten: nothing can be written there.
    """
    out, unfinished, target = _begin_file(file)
    try:
        with out:
            async with aclosing(pieces):
                async for piece in pieces:
                    out.write(piece)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _begin_file(file: Path) -> tuple[BinaryIO, Path, Path]:
    """Where to write, its name meanwhile, and the one that it gets."""
    target = file.resolve()
    if target.exists() and not target.is_file():
        raise NotWritten(f"{file} is not a regular file")
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.unfinished")
    try:
        descriptor = os.open(unfinished, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    except OSError as trouble:
        raise NotWritten(f"{file} cannot be written: {trouble.strerror}") from trouble
    return os.fdopen(descriptor, "wb"), unfinished, target
