"""`python -m betcode.agents.openclaw`."""

import asyncio
import logging
import os
import signal
import sys
from typing import NoReturn, cast

from acp import Agent, run_agent

from betcode.agents.openclaw.bridge import Bridge
from betcode.agents.openclaw.options import BridgeOptions, read_options

_EXIT_TERMINATED = 143


async def _run(options: BridgeOptions) -> NoReturn:
    """Run until the client closes its end, or a signal arrives."""
    started_by = os.getppid()
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    async with asyncio.TaskGroup() as tasks:
        bridge = Bridge(options, tasks, _say)
        listening = tasks.create_task(run_agent(cast("Agent", bridge)), name="client")
        stopping = tasks.create_task(stopped.wait(), name="signal")
        await asyncio.wait([listening, stopping], return_when=asyncio.FIRST_COMPLETED)
        code = 0
        if stopped.is_set():
            if os.getppid() == started_by:  # otherwise the client died: nothing was requested
                await bridge.stop()
            code = _EXIT_TERMINATED
        sys.stdout.flush()
        os._exit(code)  # the active run belongs to the gateway, and continues there


def _say(what: str) -> None:
    sys.stderr.write(f"openclaw: {what}\n")
    sys.stderr.flush()


def main() -> NoReturn:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="openclaw: %(message)s")
    asyncio.run(_run(read_options(sys.argv[1:], os.environ)))


if __name__ == "__main__":
    main()
