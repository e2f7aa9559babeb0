"""Clients that reset streams in a tight loop: the calls of others are answered meanwhile."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support import reset_flood
from support.daemon import Daemon, obedient_daemon
from support.patience import PATIENCE_S
from support.tcp import LOOPBACK, address_of, tcp_channel, token_file

pytestmark = pytest.mark.anyio
CALLS = 12


@contextmanager
def floods(address: str, many: int) -> Iterator[list["subprocess.Popen[str]"]]:
    """So many clients that do it, all of them at work."""
    argv = [sys.executable, reset_flood.__file__, address]
    started = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(many)]
    try:
        for each in started:
            assert each.stdout is not None
            assert each.stdout.readline() == "begun\n"
        yield started
    finally:
        for each in started:
            each.kill()
            each.communicate()


async def answered(daemon: Daemon) -> int:
    """Calls that are answered, each on a connection of its own."""
    for _ in range(CALLS):
        async with daemon.agent_service() as agent:
            await agent.ListSessions(v1.ListSessionsRequest(), timeout=PATIENCE_S)
    return CALLS


@pytest.mark.parametrize("many", [1, 3])
async def test_calls_are_answered_while_others_reset_streams_on_the_unix_socket(tmp_path: Path, many: int) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        with floods(str(daemon.places.socket), many):
            assert await answered(daemon) == CALLS
        assert daemon.exit_code is None


async def test_calls_are_answered_while_others_reset_streams_on_tcp(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path, settings={"daemon": LOOPBACK}) as daemon:
        token = (("authorization", f"Bearer {token_file(daemon).read_text().strip()}"),)
        with floods(str(await address_of(daemon)), 2):
            for _ in range(CALLS):
                async with tcp_channel(daemon) as channel:
                    stub = AgentServiceStub(channel)
                    await stub.ListSessions(v1.ListSessionsRequest(), timeout=PATIENCE_S, metadata=token)
            assert await answered(daemon) == CALLS
