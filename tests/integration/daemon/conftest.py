"""One event loop for each module of tests."""

from collections.abc import AsyncIterator

import pytest


@pytest.fixture(scope="module", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """Keeps the loop from the module's first test to its last: grpc.aio's poller may meet a closed one otherwise."""
    yield  # noqa: PT022 a generator is what keeps the loop
