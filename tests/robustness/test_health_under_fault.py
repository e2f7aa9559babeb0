"""Health tells the truth while something is wrong, and is well again by itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from grpc import aio
from grpc_health.v1 import health_pb2

from betcode.client import Client, open_client
from betcode.engine import EngineFacts
from betcode.engine.maintenance.adoption import AdoptionReport
from betcode.server.health.checks import SQLITE, components, run_check
from betcode.storage import open_store
from betcode.v1 import health_pb2 as v1
from support.daemon.process import Daemon, agent_program, becomes_true, obedient_daemon, running_daemon
from support.daemon.session import is_idle
from support.patience import PATIENCE_S
from support.processes.command import shell
from support.providers.claude_world import obedient_talk
from support.storage.disk import fill, small_disk

pytestmark = pytest.mark.anyio

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def raise_it(error: BaseException) -> None:
    raise error


def sick(details: v1.HealthDetailsResponse) -> dict[str, str]:
    return {each.name: each.message for each in details.components if each.status != v1.SERVING}


async def until_well(client: Client) -> v1.HealthDetailsResponse:
    with anyio.fail_after(PATIENCE_S):
        while (details := await client.health()).degraded:  # noqa: ASYNC110
            await anyio.sleep(0.05)
    return details


@asynccontextmanager
async def watched(channel: aio.Channel, service: str = "") -> AsyncIterator["Watcher"]:
    """Somebody who watches the standard health service."""
    watch: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream("/grpc.health.v1.Health/Watch")
    call = watch(health_pb2.HealthCheckRequest(service=service).SerializeToString())
    try:
        yield Watcher(call)
    finally:
        call.cancel()


class Watcher:
    def __init__(self, call: "aio.UnaryStreamCall[bytes, bytes]") -> None:
        self._call = call

    async def next(self) -> int:
        with anyio.fail_after(PATIENCE_S):
            data: object = await self._call.read()
        assert isinstance(data, bytes)
        return health_pb2.HealthCheckResponse.FromString(data).status


async def checked(channel: aio.Channel, service: str = "") -> int:
    """What Check answers."""
    check: aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
    answer = await check(health_pb2.HealthCheckRequest(service=service).SerializeToString(), timeout=PATIENCE_S)
    return health_pb2.HealthCheckResponse.FromString(answer).status


@pytest.mark.behaviour(
    "health.standard.watch", "health.standard.check", "health.component.local-server", "health.overall.not-serving"
)
async def test_a_listener_that_accepts_no_connections_is_reported_to_check_and_watch(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path) as daemon,
        open_client(daemon.paths) as client,
        daemon.channel() as channel,
        watched(channel) as overall,
    ):
        assert await overall.next() == await checked(channel) == SERVING
        assert sick(await client.health()) == {}
        hidden = daemon.paths.socket.with_name("hidden")
        daemon.paths.socket.rename(hidden)  # connections that are open stay open
        details = await client.health()
        assert (details.overall_status, list(sick(details))) == (v1.NOT_SERVING, ["local_server"])
        assert await overall.next() == await checked(channel) == NOT_SERVING
        hidden.rename(daemon.paths.socket)
        assert sick(await until_well(client)) == {}
        assert await overall.next() == await checked(channel) == SERVING


@pytest.mark.behaviour(
    "health.standard.watch", "health.standard.check", "health.component.sqlite", "health.overall.not-serving"
)
async def test_a_full_disk_is_told_to_all_who_watch_and_so_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 24) as disk:
        async with (
            running_daemon(disk) as daemon,
            open_client(daemon.paths) as client,
            daemon.channel() as channel,
            watched(channel, "AgentService") as one,
            watched(channel) as overall,
            watched(channel, "betcode.v1.BetCodeHealth") as itself,
        ):
            async with watched(channel, "AgentService") as other:
                assert await other.next() == SERVING
            # Whoever leaves takes nothing from the others.
            assert [await each.next() for each in (one, overall, itself)] == [SERVING] * 3
            filler = fill(disk)
            details = await client.health()
            assert details.overall_status == v1.NOT_SERVING
            assert list(sick(details)) == ["sqlite"]
            assert "disk is full" in details.degraded_reason
            assert [await each.next() for each in (one, overall)] == [NOT_SERVING] * 2
            assert await checked(channel) == await checked(channel, "AgentService") == NOT_SERVING
            filler.unlink()
            assert [await each.next() for each in (one, overall)] == [SERVING] * 2  # nobody asked for that
            assert sick(await until_well(client)) == {}


async def test_a_database_that_became_read_only_is_told_and_then_well_again(tmp_path: Path) -> None:
    facts = EngineFacts(0, 5, 5, 0, 0, 0, "", AdoptionReport())
    async with open_store(tmp_path / "betcode.db", on_fatal=raise_it) as store:
        listed = components(lambda: facts, lambda: "", lambda: "", store.writable, tmp_path, lambda: ())
        (sqlite,) = [each for each in listed if each.name == SQLITE]
        assert (await run_check(sqlite)).is_well
        # SQLite's own word for it; a disk that turned read-only under open files cannot be had in a test.
        connection = store._writer._db
        connection.pragma("query_only", 1)
        outcome = await run_check(sqlite)
        assert (outcome.is_well, "read-only" in outcome.message) == (False, True)
        connection.pragma("query_only", 0)
        assert (await run_check(sqlite)).is_well


@pytest.mark.behaviour("health.component.pool", "health.degraded.pool", "health.overall.degraded")
async def test_a_pool_without_a_free_slot_is_degraded_and_with_a_full_line_not_well(tmp_path: Path) -> None:
    limits = {"agents": {"turn_limit": 1, "queue_limit": 1}}
    async with obedient_daemon(tmp_path, settings=limits) as daemon, open_client(daemon.paths) as client:
        first = await obedient_talk(daemon, client)
        await first.say("wait go")
        await first.until(lambda event: event.text_delta.text == "waiting")
        details = await client.health()
        assert (details.overall_status, sick(details)) == (v1.SERVING, {})
        assert (details.degraded, details.degraded_reason) == (True, "All subprocess slots in use")
        assert details.metadata["degraded_states"] == "subprocess_pool_full"
        second = await obedient_talk(daemon, client)
        await second.say("say done")
        details = await client.health()
        assert details.overall_status == v1.SERVING
        assert sick(details) == {"subprocess_pool": "1/1 slots used, 1 waiting; the queue is full"}
        (daemon.work / "go").touch()
        await second.until(is_idle)
        await until_well(client)


async def test_an_agents_program_that_is_gone_is_told_until_it_is_back(tmp_path: Path) -> None:
    program = agent_program(tmp_path / "program")
    async with running_daemon(tmp_path, claude_bin=program) as daemon, open_client(daemon.paths) as client:
        assert sick(await client.health()) == {}
        program.rename(program.with_name("away"))
        details = await client.health()
        assert str(program) in sick(details)["subprocess_pool"]
        assert (details.overall_status, details.metadata["degraded_states"]) == (v1.SERVING, "agent_missing")
        program.with_name("away").rename(program)
        assert sick(await until_well(client)) == {}


@pytest.mark.behaviour("health.degraded.memory")
async def test_memory_over_its_limit_is_told_until_the_limit_is_another(tmp_path: Path) -> None:
    settings = {"daemon": {"memory_limit": "10MB"}}
    async with running_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        details = await client.health()
        assert (details.overall_status, details.degraded_reason) == (v1.SERVING, "Memory usage > 80%")
        assert int(details.metadata["memory_bytes"]) > 8_000_000
        daemon.reload({"daemon": {"memory_limit": "4GB"}})
        await becomes_true(lambda: "daemon.memory_limit" in daemon.log)
        await until_well(client)


@pytest.mark.behaviour("health.standard.unknown-service")
async def test_a_service_that_is_not_served_is_unknown_and_each_that_is_has_two_names(daemon: Daemon) -> None:
    async with daemon.channel() as channel:
        for name in ("nobody", "betcode.v1.TunnelService", "v1.AgentService"):
            async with watched(channel, name) as watcher:
                assert await watcher.next() == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        for name in ("AgentService", "AuditService", "PolicyService", "AdminService", "BetCodeHealth"):
            for spelled in (name, f"betcode.v1.{name}"):
                async with watched(channel, spelled) as watcher:
                    assert await watcher.next() == SERVING


@pytest.mark.behaviour("health.cli.status", "health.degraded.pool")
def test_status_is_printed_with_what_is_wrong_and_what_that_means(tmp_path: Path) -> None:
    with shell(tmp_path, settings={"daemon": {"memory_limit": "10MB"}}) as here:
        here.run("daemon", "start")
        lines = here.run("daemon", "status").stdout.splitlines()
        assert lines[:5] == [
            "Daemon: SERVING (degraded)",
            "  subprocess_pool: SERVING (0/5 slots used)",
            "  sqlite: SERVING",
            "  local_server: SERVING",
            "",
        ]
        assert lines[5] == "Degraded: Memory usage > 80%. May trigger compaction."
        assert lines[6].startswith("Uptime: ")
        assert lines[7].startswith("Version: ")
        told = here.json("daemon", "status", "--json")
        assert (told["status"], told["degraded_states"]) == ("SERVING", ["high_memory"])
        assert told["components"]["sqlite"]["last_check"] > told["started"][:19]
