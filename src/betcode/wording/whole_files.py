"""Files that people ask for: whole under their names, or not there."""

from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from pathlib import Path

from betcode.util.atomic_files import replacing

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
    target = file.resolve()
    if target.exists() and not target.is_file():
        raise NotWritten(f"{file} is not a regular file")
    with ExitStack() as stack:
        try:
            out = stack.enter_context(replacing(target, durable=False))
        except OSError as trouble:
            raise NotWritten(f"{file} cannot be written: {trouble.strerror}") from trouble
        async with aclosing(pieces):
            async for piece in pieces:
                out.write(piece)
