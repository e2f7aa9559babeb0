"""TCP connections without a token, as many as are allowed: those who have the token get in all the same."""

import socket
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.daemon.process import obedient_daemon
from support.daemon.reset_flood import opened
from support.daemon.tcp import LOOPBACK, address_of, tcp_channel, token_file
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
LIMIT = 40
# Without the check a connection that says HTTP/2 and no more is kept for keepalive and its timeout, and longer.
SETTINGS = {"daemon": {**LOOPBACK, "connection_limit": LIMIT, "keepalive": "5m", "keepalive_timeout": "5m"}}


@pytest.mark.parametrize("says_http", [False, True])
async def test_silent_connections_do_not_block_others(tmp_path: Path, says_http: bool) -> None:
    async with obedient_daemon(tmp_path, settings=SETTINGS) as daemon:
        address = await address_of(daemon)
        token = (("authorization", f"Bearer {token_file(daemon).read_text().strip()}"),)
        async with tcp_channel(daemon) as early:
            await AgentServiceStub(early).ListSessions(v1.ListSessionsRequest(), metadata=token, wait_for_ready=True)
            with ExitStack() as stack:
                for _ in range(LIMIT):
                    silent = (
                        opened(str(address)) if says_http else socket.create_connection((address.host, address.port))
                    )
                    stack.enter_context(silent)
                with anyio.fail_after(PATIENCE_S):
                    async with tcp_channel(daemon) as channel:
                        stub = AgentServiceStub(channel)
                        await stub.ListSessions(v1.ListSessionsRequest(), metadata=token, wait_for_ready=True)
            # Who has shown the token is never closed.
            await AgentServiceStub(early).ListSessions(v1.ListSessionsRequest(), metadata=token)
