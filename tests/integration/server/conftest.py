"""One daemon for each module of tests; those that kill it have their own."""

from collections.abc import AsyncIterator, Iterator

import anyio
import pytest

from support.daemon import Agent, Daemon, agent_program


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose agents do what the prompt says."""
    root = tmp_path_factory.mktemp("daemon")
    daemon = Daemon(root, claude_bin=agent_program(root))
    try:
        anyio.run(daemon.start)
        yield daemon
    finally:
        daemon.end_everything()


@pytest.fixture
async def agent(daemon: Daemon) -> AsyncIterator[Agent]:
    async with daemon.agent_service() as stub:
        yield stub
