"""One connection with very many calls at once: a bounded number reaches the daemon, the rest waits in the client."""

from pathlib import Path

import anyio
import pytest
from grpc import aio

from betcode.server.server import STREAMS_LIMIT
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.daemon.process import obedient_daemon
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
MORE = 10


async def test_calls_past_the_limit_of_a_connection_wait_for_its_own_calls_only(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, daemon.channel() as channel:
        many = AgentServiceStub(channel)
        opened: list[aio.UnaryStreamCall[v1.WatchPendingRequest, v1.PendingChange]] = []
        served: list[int] = []
        is_full, one_more = anyio.Event(), anyio.Event()

        async def follow(place: int) -> None:
            await opened[place].read()
            served.append(place)
            if len(served) == STREAMS_LIMIT:
                is_full.set()
            elif len(served) > STREAMS_LIMIT:
                one_more.set()

        async with anyio.create_task_group() as tasks:
            for place in range(STREAMS_LIMIT + MORE):
                opened.append(many.WatchPending(v1.WatchPendingRequest()))
                tasks.start_soon(follow, place)
            with anyio.fail_after(PATIENCE_S):
                await is_full.wait()
                for _ in range(5):
                    async with daemon.agent_service() as other:
                        await other.ListSessions(v1.ListSessionsRequest(), timeout=PATIENCE_S)
                assert len(served) == STREAMS_LIMIT
                opened[served[0]].cancel()
                await one_more.wait()
            tasks.cancel_scope.cancel()
