"""One daemon and one event loop for each module of tests; those that kill a daemon have their own."""

from collections.abc import AsyncIterator

import pytest

from support.daemon.process import Agent, Daemon, obedient_daemon


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A daemon whose agents do what the prompt says."""
    async with obedient_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
async def agent(daemon: Daemon) -> AsyncIterator[Agent]:
    async with daemon.agent_service() as stub:
        yield stub
