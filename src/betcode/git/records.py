"""Reads git's NUL-separated output record by record."""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing


async def records(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[str, None]:
    """Yield each record that ends with a NUL. Hold it in `aclosing`.

    Raises:
        GitFailed: what the pieces raise.
    """
    rest = b""
    async with aclosing(pieces):
        async for piece in pieces:
            *whole, rest = (rest + piece).split(b"\0")
            for record in whole:
                yield os.fsdecode(record)
