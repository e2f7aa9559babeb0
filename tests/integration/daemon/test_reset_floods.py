"""Clients that reset streams in a tight loop: they are closed, and the calls of others are answered meanwhile."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import grpc
import pytest
from grpc import aio

from betcode.client.address import grpc_target
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.daemon import reset_flood
from support.daemon.process import Daemon, obedient_daemon
from support.daemon.tcp import LOOPBACK, address_of, tcp_channel, token_file
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
CALLS = 12
CLOSED = "closed a connection of"


@contextmanager
def floods(address: str, many: int, times: int = 1) -> Iterator[list["subprocess.Popen[str]"]]:
    """So many clients that do it, all of them at work; each connects so many times."""
    argv = [sys.executable, reset_flood.__file__, address, str(times)]
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


async def all_closed(started: list["subprocess.Popen[str]"]) -> None:
    """Wait until the daemon has closed each connection of these clients."""
    for each in started:
        assert await anyio.to_thread.run_sync(each.wait, PATIENCE_S) == 0


async def answered(daemon: Daemon) -> int:
    """Calls that are answered, each on a connection of its own."""
    for _ in range(CALLS):
        async with daemon.agent_service() as agent:
            await agent.ListSessions(v1.ListSessionsRequest(), timeout=PATIENCE_S)
    return CALLS


@asynccontextmanager
async def watched_channel(daemon: Daemon) -> AsyncIterator[aio.Channel]:
    """A connection with a watch that is open from the beginning to the end of the block."""
    async with aio.insecure_channel(grpc_target(daemon.paths.socket)) as channel:
        watch = AgentServiceStub(channel).WatchPending(v1.WatchPendingRequest())
        await watch.initial_metadata()
        yield channel
        await AgentServiceStub(channel).ListSessions(v1.ListSessionsRequest(), timeout=PATIENCE_S)
        assert not watch.done()
        watch.cancel()


@pytest.mark.parametrize("many", [1, 3])
async def test_floods_on_the_unix_socket_are_closed_and_others_are_answered(tmp_path: Path, many: int) -> None:
    async with obedient_daemon(tmp_path) as daemon, watched_channel(daemon):
        with floods(str(daemon.paths.socket), many) as started:
            assert await answered(daemon) == CALLS
            await all_closed(started)
        assert daemon.exit_code is None
        assert all(f"{CLOSED} process {each.pid}:" in daemon.log for each in started)


async def test_a_client_that_connects_again_and_floods_is_closed_again(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, watched_channel(daemon):
        with floods(str(daemon.paths.socket), 1, times=3) as started:
            await all_closed(started)
        assert await answered(daemon) == CALLS
        assert daemon.log.count(CLOSED) == 3


async def test_floods_on_tcp_are_closed_and_others_are_answered(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path, settings={"daemon": LOOPBACK}) as daemon, watched_channel(daemon):
        token = (("authorization", f"Bearer {token_file(daemon).read_text().strip()}"),)
        with floods(str(await address_of(daemon)), 2) as started:
            for _ in range(CALLS):
                async with tcp_channel(daemon) as channel:
                    stub = AgentServiceStub(channel)
                    await stub.ListSessions(v1.ListSessionsRequest(), timeout=PATIENCE_S, metadata=token)
            assert await answered(daemon) == CALLS
            await all_closed(started)
        assert f"{CLOSED} 127.0.0.1:" in daemon.log  # a connection without a token is closed later for that, too


async def test_a_client_that_cancels_many_calls_is_not_closed(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with watched_channel(daemon) as channel:
            for _ in range(30):
                calls = [AgentServiceStub(channel).ListSessions(v1.ListSessionsRequest()) for _ in range(20)]
                await anyio.lowlevel.checkpoint()  # they are sent
                for each in calls:
                    each.cancel()
                await AgentServiceStub(channel).ListSessions(v1.ListSessionsRequest(), timeout=PATIENCE_S)
        assert CLOSED not in daemon.log


async def test_a_client_whose_messages_contain_a_flood_is_not_closed(tmp_path: Path) -> None:
    recorded = b"".join(reset_flood.call_frames("/a.B/C", stream) for stream in range(1, 200_001, 2))
    async with obedient_daemon(tmp_path) as daemon:
        async with watched_channel(daemon) as channel:
            submit: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/betcode.v1.AgentService/Submit")
            for _ in range(8):
                with pytest.raises(aio.AioRpcError) as refused:
                    await submit(recorded, timeout=PATIENCE_S)
                assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert CLOSED not in daemon.log
