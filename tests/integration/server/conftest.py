"""One daemon and one event loop for each module of tests; those that kill a daemon have their own."""

from collections.abc import AsyncIterator

import pytest

from support.daemon import Agent, Daemon, obedient_daemon


@pytest.fixture(scope="module", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """Keeps the loop from the module's first test to its last: grpc.aio's poller may meet a closed one otherwise."""
    yield  # noqa: PT022 a generator is what keeps the loop


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A daemon whose agents do what the prompt says."""
    async with obedient_daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
async def agent(daemon: Daemon) -> AsyncIterator[Agent]:
    async with daemon.agent_service() as stub:
        yield stub
