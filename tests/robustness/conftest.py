"""A daemon with an obedient agent, and a client of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from betcode.client import Client, open_client
from support.daemon.process import Daemon, obedient_daemon


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path) as daemon:
        yield daemon


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    async with open_client(daemon.paths) as client:
        yield client
