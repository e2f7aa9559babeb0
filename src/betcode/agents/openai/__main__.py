"""`python -m betcode.agents.openai`."""

import asyncio
import logging
import os
import signal
import sys
from typing import cast

import anyio
from acp import Agent, run_agent

from betcode.agents.openai.agent import OpenAiAgent
from betcode.agents.openai.options import OpenAiOptions, parse


async def serve(options: OpenAiOptions) -> None:
    """Until stdin ends; a turn that is at work then is cancelled, and its command with it."""
    async with anyio.create_task_group() as tasks:
        loop, scope = asyncio.get_running_loop(), tasks.cancel_scope
        loop.add_signal_handler(signal.SIGTERM, scope.cancel)
        loop.add_signal_handler(signal.SIGINT, scope.cancel)
        agent = OpenAiAgent(options, tasks)
        await run_agent(cast("Agent", agent), use_unstable_protocol=True)
        await agent.close()
        scope.cancel()


def main() -> int:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
    options = parse(sys.argv[1:], os.environ)
    anyio.run(serve, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
