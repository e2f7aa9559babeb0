"""A program that lists sessions again and again until SIGTERM: `python -m bench.bystander STATE_DIR`.

It prints `{}` after its first call, and at the end how long its calls took.
"""

import json
import signal
import sys
import time
from pathlib import Path

import anyio

from bench.figure import percentile
from betcode.client import Client, open_client
from betcode.config.paths import choose_paths

_PAUSE_S = 0.01


async def main(state_dir: Path) -> None:
    took_s: list[float] = []
    async with open_client(choose_paths({}, state_dir=state_dir, config_dir=state_dir / "config")) as client:
        with anyio.open_signal_receiver(signal.SIGTERM) as signals:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_call, client, took_s)
                async for _ in signals:
                    tasks.cancel_scope.cancel()
                    break
    said = {"calls": len(took_s), "p99_s": percentile(took_s, 0.99), "worst_s": max(took_s)}
    print(json.dumps(said), flush=True)


async def _call(client: Client, took_s: list[float]) -> None:
    await client.list_sessions()
    print("{}", flush=True)
    while True:
        began = time.perf_counter()
        try:
            await client.list_sessions()
        finally:
            took_s.append(time.perf_counter() - began)  # also of the call that SIGTERM cuts short
        await anyio.sleep(_PAUSE_S)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
