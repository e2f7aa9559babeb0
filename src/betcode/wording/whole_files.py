"""Write files atomically for people: complete under their names, or not at all."""

from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from pathlib import Path

from betcode.util.atomic_files import replacing

_FORMATS = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}


class FileNotWritten(Exception):
    """The file cannot be written; the message says why."""


def format_of(file: Path) -> str:
    """Return the export format for this file extension."""
    return _FORMATS.get(file.suffix.lower(), "json")


async def write_whole(pieces: AsyncGenerator[bytes, None], file: Path) -> None:
    """Write the file; it appears only when it is complete, readable only by its owner.

    Raises:
        FileNotWritten: the file cannot be written.
    """
    target = file.resolve()
    if target.exists() and not target.is_file():
        raise FileNotWritten(f"{file} is not a regular file")
    with ExitStack() as stack:
        try:
            out = stack.enter_context(replacing(target, durable=False))
        except OSError as trouble:
            raise FileNotWritten(f"{file} cannot be written: {trouble.strerror}") from trouble
        async with aclosing(pieces):
            async for piece in pieces:
                out.write(piece)
