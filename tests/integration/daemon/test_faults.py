"""When something under the daemon breaks: it says so, loses nothing and goes on when it can."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2

from betcode.v1 import agent_pb2 as v1
from betcode.v1 import health_pb2 as health
from support.daemon.process import Daemon, obedient_daemon
from support.daemon.raw_calls import RawCalls
from support.daemon.stream import conversation, history, info_of, is_idle, kinds, message, sequences, text_of

pytestmark = pytest.mark.anyio


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Another program has the database and does not let go of it."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


async def health_of(daemon: Daemon) -> health.HealthDetailsResponse:
    async with daemon.channel() as channel:
        data = await RawCalls(channel).unary("/betcode.v1.BetCodeHealth/GetHealthDetails", b"")
    return health.HealthDetailsResponse.FromString(data)


async def checked_well(daemon: Daemon) -> bool:
    """What the standard health service says."""
    async with daemon.channel() as channel:
        answer = health_pb2.HealthCheckResponse.FromString(
            await RawCalls(channel).unary("/grpc.health.v1.Health/Check", b"")
        )
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


@pytest.mark.behaviour("recovery.sqlite.write-failure")
async def test_a_database_locked_by_another_program_is_reported_and_nothing_is_lost(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path) as daemon,
        daemon.agent_service() as agent,
        conversation(agent, working_directory=str(daemon.work)) as stream,
    ):
        await stream.say("wait go\ncount 300\nsay the end")
        await stream.until(lambda event: event.text_delta.text == "waiting")
        with locked(daemon.paths.database):
            (daemon.work / "go").touch()
            notice = (await stream.until("notice"))[-1]
            assert notice.sequence == 0
            assert notice.notice.kind == v1.NOTICE_KIND_DEGRADED
            with pytest.raises(aio.AioRpcError) as error:
                await agent.Submit(v1.SubmitRequest(session_id=stream.session_id, request=message("say no")))
            assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert info_of(error.value).reason == "STORAGE_DEGRADED"
            sick = await health_of(daemon)
            assert not await checked_well(daemon)
            assert sick.degraded
            assert sick.degraded_reason
            assert sick.overall_status == health.NOT_SERVING
            assert {each.name for each in sick.components if each.status == health.NOT_SERVING} == {"sqlite"}
        await stream.until(is_idle)
        numbered = [event for event in stream.events if event.sequence]
        assert sequences(numbered) == list(range(1, len(numbered) + 1))
        assert "gap" not in kinds(numbered)
        assert text_of(numbered).endswith("the end")
        assert await history(agent, stream.session_id, is_idle) == numbered
        well = await health_of(daemon)
        assert (well.degraded, well.overall_status) == (False, health.SERVING)
        assert await checked_well(daemon)
        assert text_of(await stream.turn("say yes")) == "yes"
        levels = {json.loads(line)["level"] for line in daemon.log.splitlines()}
        assert "error" in levels


@pytest.mark.behaviour("error.status.internal")
async def test_a_fault_inside_is_internal_without_a_traceback_and_the_daemon_stays_up(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with (
            daemon.agent_service() as agent,
            conversation(agent, working_directory=str(daemon.work)) as stream,
        ):
            await stream.say("tool")
            await stream.until("permission_request")
        with closing(sqlite3.connect(daemon.paths.database)) as database, database:
            database.execute("UPDATE pending_permissions SET event = x'ffff'")
        async with daemon.agent_service() as agent:
            with pytest.raises(aio.AioRpcError) as error:
                await agent.ListPending(v1.ListPendingRequest())
            assert error.value.code() is grpc.StatusCode.INTERNAL
            assert info_of(error.value).reason == "INTERNAL"
            assert "Traceback" not in (error.value.details() or "")
            assert (await agent.ListSessions(v1.ListSessionsRequest())).total == 1
        faults = [line for line in map(json.loads, daemon.log.splitlines()) if line["level"] == "error"]
        assert "DecodeError" in faults[-1]["exception"]
