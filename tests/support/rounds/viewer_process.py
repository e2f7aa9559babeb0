"""A client that follows a session and writes what it is shown to a file, entry by entry; it is killed, never ended.

STATE_DIR SOCKET SESSION AFTER FILE
"""

import os
import struct
import sys
from contextlib import aclosing
from pathlib import Path

import anyio

from betcode.client import open_client
from betcode.config.paths import choose_paths


async def main(state_dir: str, socket: str, session_id: str, after: str, file: str) -> None:
    paths = choose_paths({}, state_dir=Path(state_dir), socket=Path(socket))
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    async with (
        open_client(paths, ladder_ms=(5, 20, 50, 100)) as client,
        aclosing(client.follow(session_id, int(after))) as events,
    ):
        async for event in events:
            if event.sequence or event.session_info.is_compacted:
                data = event.SerializeToString()
                os.write(descriptor, struct.pack("<QI", event.sequence, len(data)) + data)


if __name__ == "__main__":
    state, socket_path, session, position, target = sys.argv[1:]
    anyio.run(main, state, socket_path, session, position, target)
