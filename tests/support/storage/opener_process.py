"""A process that opens and closes a store over and over until it is killed; one line on stdout for each opening."""

import os
import sys
from pathlib import Path

import anyio

from betcode.storage import open_store
from support.storage.rows import Fatal, new_session


async def main() -> None:
    while True:
        async with open_store(Path(sys.argv[1]), on_fatal=Fatal()) as store:
            await new_session(store)
            os.write(1, b"open\n")


if __name__ == "__main__":
    anyio.run(main, backend="asyncio")
