"""A program that sends many messages to one session at once: `python -m bench.burst_sender STATE_DIR SESSION NUMBER`.

It prints `{}` once it is connected, and when the last message was accepted how long that took.
"""

import json
import sys
import time
from pathlib import Path

import anyio

from betcode.client import open_client
from betcode.config.paths import choose_paths


async def main(state_dir: Path, session: str, number: int) -> None:
    async with open_client(choose_paths({}, state_dir=state_dir, config_dir=state_dir / "config")) as client:
        await client.handshake()
        print("{}", flush=True)
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for _ in range(number):
                tasks.start_soon(client.send, session, "again")
        print(json.dumps({"accepted_s": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
