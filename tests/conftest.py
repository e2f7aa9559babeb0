"""What every test stands on."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Tests run on asyncio, as grpc.aio does."""
    return "asyncio"
