"""What the checks' outcomes and the engine's facts mean for a daemon's health."""

import asyncio
import os
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

from betcode.domain.metrics.health import POOL_FULL, HealthOutcome
from betcode.engine import ClientName, EngineFacts
from betcode.engine.maintenance.adoption import AdoptionReport
from betcode.holder.platform import resident_bytes
from betcode.server.health.checks import Component, Listener, components, run_check
from betcode.server.health.runner import About, Health, metadata_of
from betcode.server.rpc import Caller
from betcode.v1 import health_pb2 as v1
from support.daemon.in_process import demo_by_default


def facts(at_work: int = 0, waiting: int = 0, degraded: str = "") -> EngineFacts:
    return EngineFacts(
        turns_at_work=at_work,
        turn_limit=5,
        queue_limit=2,
        waiting_in_line=waiting,
        live_agents=1,
        agent_memory_bytes=100,
        degraded_reason=degraded,
        found_at_start=AdoptionReport(adopted=3),
    )


pytestmark = pytest.mark.anyio
ABOUT = About("1.2", 1_000_000_000, "/s", "/state", "/config", demo_by_default)
NOBODY = Caller(ClientName("nobody"))


@dataclass
class Sick:
    """A component that is as well as the test says."""

    name: str
    is_critical: bool
    outcome: HealthOutcome = field(default_factory=lambda: HealthOutcome(True))
    hangs: bool = False

    @property
    def component(self) -> Component:
        return Component(self.name, 30.0, self.is_critical, self.check)

    async def check(self) -> HealthOutcome:
        if self.hangs:
            await anyio.sleep_forever()
        return self.outcome


def three() -> tuple[Sick, Sick, Sick]:
    return Sick("subprocess_pool", False), Sick("sqlite", True), Sick("local_server", True)


def health_of(parts: tuple[Sick, ...], memory_limit: int = 2**40) -> Health:
    of = replace(facts(), memory_limit_bytes=memory_limit)
    services = ("betcode.v1.AgentService", "betcode.v1.BetCodeHealth")
    return Health(lambda: of, ABOUT, [part.component for part in parts], services)


async def details(health: Health) -> v1.HealthDetailsResponse:
    return await health.get_health_details(NOBODY, v1.HealthDetailsRequest())


async def test_all_well_is_serving_and_not_degraded() -> None:
    before = time.time()
    answer = await details(health_of(three()))
    assert (answer.overall_status, answer.degraded, answer.degraded_reason) == (v1.SERVING, False, "")
    assert [each.name for each in answer.components] == ["subprocess_pool", "sqlite", "local_server"]
    assert all(before <= each.last_check.ToNanoseconds() / 1e9 <= time.time() for each in answer.components)


@pytest.mark.behaviour("health.overall.not-serving")
@pytest.mark.parametrize("which", [1, 2])
async def test_without_the_database_or_the_listener_nothing_is_served(which: int) -> None:
    parts = three()
    parts[which].outcome = HealthOutcome(False, "it broke")
    answer = await details(health_of(parts))
    assert (answer.overall_status, answer.degraded_reason) == (v1.NOT_SERVING, "it broke")


@pytest.mark.behaviour("health.overall.degraded")
async def test_a_pool_that_is_not_well_degrades_and_nothing_more() -> None:
    parts = three()
    parts[0].outcome = HealthOutcome(False, "5/5 slots used; the queue is full", (POOL_FULL,))
    answer = await details(health_of(parts))
    assert (answer.overall_status, answer.degraded) == (v1.SERVING, True)
    assert answer.degraded_reason == "All subprocess slots in use"
    assert answer.metadata["degraded_states"] == "subprocess_pool_full"
    assert answer.metadata["degraded_impact"] == "New sessions queued"


@pytest.mark.behaviour("health.degraded.memory")
async def test_memory_is_compared_with_its_limit() -> None:
    used = resident_bytes(os.getpid())
    assert not (await details(health_of(three(), memory_limit=4 * used))).degraded
    answer = await details(health_of(three(), memory_limit=used))
    assert (answer.overall_status, answer.degraded_reason) == (v1.SERVING, "Memory usage > 80%")
    assert answer.metadata["degraded_states"] == "high_memory"


async def test_a_check_that_hangs_or_cannot_be_made_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betcode.server.health.checks.CHECK_BOUND_S", 0.05)
    parts = three()
    parts[1].hangs = True
    answer = await details(health_of(parts))
    assert answer.overall_status == v1.NOT_SERVING
    assert "nothing could be written within" in answer.degraded_reason
    parts = three()
    parts[0].hangs = True
    answer = await details(health_of(parts))
    assert (answer.overall_status, answer.degraded) == (v1.SERVING, True)
    assert "subprocess_pool: no answer within" in answer.degraded_reason


async def test_all_who_ask_during_a_look_share_the_next_one() -> None:
    looks = 0
    goes_on = anyio.Event()

    async def check() -> HealthOutcome:
        nonlocal looks
        looks += 1
        await goes_on.wait()
        return HealthOutcome(True)

    health = Health(facts, ABOUT, [Component("sqlite", 30.0, True, check)], ())
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(health.refresh)
        await anyio.wait_all_tasks_blocked()
        goes_on.set()
    assert looks == 1, "all of them came before it began"
    await health.refresh()
    assert looks == 2

    goes_on = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(health.refresh)
        await anyio.wait_all_tasks_blocked()
        for _ in range(20):
            tasks.start_soon(health.refresh)
        await anyio.wait_all_tasks_blocked()
        goes_on.set()
    assert looks == 4, "one that had begun, and one for all who came later"


async def test_a_look_that_its_client_left_counts_for_nobody() -> None:
    looks = 0

    async def check() -> HealthOutcome:
        nonlocal looks
        looks += 1
        if looks == 1:
            await anyio.sleep_forever()
        return HealthOutcome(True)

    health = Health(facts, ABOUT, [Component("sqlite", 30.0, True, check)], ())
    impatient = anyio.CancelScope()

    async def leave() -> None:
        with impatient:
            await health.refresh()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(leave)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(health.refresh)
        await anyio.wait_all_tasks_blocked()
        impatient.cancel()
    assert looks == 2


async def test_a_program_whose_disk_hangs_does_not_take_a_thread_with_each_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("betcode.server.health.checks.CHECK_BOUND_S", 0.001)
    answers = threading.Event()

    async def nothing() -> None: ...

    def hangs() -> str:
        answers.wait()
        return ""

    pool = components(facts, lambda: "", hangs, nothing, Path("/"), lambda: ())[0]
    try:
        before = threading.active_count()
        for _ in range(100):
            assert not (await run_check(pool)).is_well
        assert threading.active_count() < before + 50
    finally:
        answers.set()


@pytest.mark.behaviour("health.component.pool", "health.component.sqlite", "health.component.local-server")
def test_each_component_is_looked_at_in_its_time() -> None:
    async def nothing() -> None: ...

    listed = components(facts, lambda: "", lambda: "", nothing, Path("/"), lambda: ())
    assert {each.name: (each.every_s, each.is_critical) for each in listed} == {
        "subprocess_pool": (10.0, False),
        "sqlite": (30.0, True),
        "local_server": (5.0, True),
    }


@pytest.mark.behaviour("health.component.local-server")
async def test_a_listener_that_is_gone_or_greets_nobody_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    assert "does not accept connections" in await Listener("here", path).trouble()

    async def close_at_once(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_unix_server(close_at_once, path):
        assert "closes connections at once" in await Listener("here", path).trouble()
        assert await Listener("here", path, greets=False).trouble() == ""


async def test_the_figures_have_names_that_stay() -> None:
    metadata = metadata_of(facts(at_work=2), ABOUT, "demo", 61_000_000_000)
    assert metadata["uptime_seconds"] == "60"
    assert metadata["found_at_start_adopted"] == "3"
    assert set(metadata) == {
        "version",
        "pid",
        "started_at",
        "uptime_seconds",
        "socket",
        "state_dir",
        "config_dir",
        "default_provider",
        "turns_at_work",
        "turn_limit",
        "waiting_in_line",
        "live_agents",
        "agent_memory_bytes",
        "telemetry",
        "found_at_start_adopted",
        "found_at_start_ended",
        "found_at_start_orphans",
        "found_at_start_waiting",
        "found_at_start_idle",
        "found_at_start_clients",
        "found_at_start_locks",
    }
