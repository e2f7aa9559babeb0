"""Run the health checks and report their results to both health services."""

import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.lowlevel

from betcode.domain.metrics.health import DATABASE_LIMIT, HealthOutcome, memory_states
from betcode.domain.runs.unusable import UnusableRun
from betcode.engine import EngineFacts
from betcode.holder.platform import resident_bytes
from betcode.server.convert.requests import DefaultProvider
from betcode.server.health.checks import AGAIN_S, CHECK_BOUND_S, LOCAL_SERVER, Component, Facts, run_check
from betcode.server.health.grpc_health import NOT_SERVING, SERVING, HealthBoard
from betcode.server.release import Release
from betcode.server.rpc import Caller
from betcode.util import wall_clock
from betcode.util.background_loops import keep_running
from betcode.v1 import health_pb2 as v1

logger = logging.getLogger(__name__)

# Services that need only a connection; every other one needs all critical components.
_NEED_A_CONNECTION = frozenset({"grpc.health.v1.Health", "betcode.v1.BetCodeHealth", "betcode.v1.VersionService"})


UnusableRuns = Callable[[], Awaitable[list[UnusableRun]]]


async def _no_runs() -> list[UnusableRun]:
    return []


def _no_trouble() -> str:
    return ""


async def _no_version(_: Path) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class About:
    """The facts that the daemon reports about itself."""

    version: str
    started_ns: int
    socket: str
    state_dir: str
    config_dir: str
    default_provider: DefaultProvider
    telemetry_troubles: Callable[[], tuple[str, ...]] = tuple  # its problems, one sentence each
    release: Release = field(default_factory=Release)
    notes: Callable[[], Mapping[str, str]] = dict  # further figures about the current problems
    agent_trouble: Callable[[], str] = _no_trouble  # why the agent's program cannot be run; may block
    version_of: Callable[[Path], Awaitable[str]] = _no_version  # of an agent's program; empty: unknown


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check, and its time."""

    component: Component
    outcome: HealthOutcome
    at_ns: int  # of the wall clock
    at: float  # of the monotonic one


class Health:
    """Checks every component at its interval and updates both health services."""

    def __init__(
        self,
        facts: Facts,
        about: About,
        components: Sequence[Component],
        services: Iterable[str],
        unusable_runs: UnusableRuns = _no_runs,
        measure: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint,
    ) -> None:
        self.board = HealthBoard()
        self.tcp_address = ""
        self.obey_socket = ""
        self._troubles: dict[str, str] = {}  # services that are not served, and why; the others are
        self._facts = facts
        self._unusable_runs = unusable_runs
        self._measure = measure  # makes `facts` return the memory that agents use now
        self._about = about
        self._components = components
        self._services = tuple(services)
        self._found: dict[str, CheckResult] = {}
        self._refreshing = anyio.Lock()
        self._begun = self._done = 0  # checks everything
        self._publish()

    def note(self, service: str, trouble: str) -> None:
        """Say why one service is not served; with an empty reason, that it is."""
        self._troubles[service] = trouble
        self._publish()

    async def monitor(self) -> None:
        """Run the checks until cancelled."""
        async with anyio.create_task_group() as tasks:
            for component in self._components:
                tasks.start_soon(keep_running, f"health of {component.name}", self._keep_looking, component)

    async def _keep_looking(self, component: Component) -> None:
        while True:
            await anyio.sleep(min(component.every_s, AGAIN_S))
            found = self._found.get(component.name)
            is_quiet = found is not None and found.outcome.is_well and not component.suspects()
            if found is None or not is_quiet or time.monotonic() >= found.at + component.every_s:
                await self._look_at(component)

    async def refresh(self) -> None:
        """Run every check now; callers that arrive during a run share the next one."""
        next_run = self._begun + 1
        async with self._refreshing:
            if self._done >= next_run:
                return
            self._begun = this = self._begun + 1
            async with anyio.create_task_group() as tasks:
                for component in self._components:
                    tasks.start_soon(self._look_at, component)
            self._done = this

    async def _look_at(self, component: Component) -> None:
        outcome = await run_check(component)
        before = self._found.get(component.name)
        self._found[component.name] = CheckResult(component, outcome, wall_clock.now_ns(), time.monotonic())
        if not outcome.is_well and (before is None or before.outcome.is_well):
            logger.warning("health check %s failed: %s", component.name, outcome.message)
        elif outcome.is_well and before is not None and not before.outcome.is_well:
            logger.info("health check %s passes again", component.name)
        self._publish()

    def _publish(self) -> None:
        """Return the status of a component; one that was not checked yet is not healthy."""
        wells = {name: found.outcome.is_well for name, found in self._found.items()}
        critical = [each.name for each in self._components if each.is_critical]
        all_well = all(wells.get(name, False) for name in critical)
        reachable = wells.get(LOCAL_SERVER, False)
        statuses = {"": SERVING if all_well else NOT_SERVING}
        for full_name in self._services:
            is_well = reachable if full_name in _NEED_A_CONNECTION else all_well
            is_well = is_well and not self._troubles.get(full_name)
            for name in (full_name, full_name.rpartition(".")[2]):
                statuses[name] = SERVING if is_well else NOT_SERVING
        self.board.show(statuses)

    async def get_health_details(self, _: Caller, __: v1.HealthDetailsRequest) -> v1.HealthDetailsResponse:
        """Return everything, checked for this answer."""
        await self.refresh()
        await self._measure()
        facts = self._facts()
        default = await self._about.default_provider({})
        memory_bytes = resident_bytes(os.getpid())
        found = [self._found[component.name] for component in self._components]
        states = [state for each in found for state in each.outcome.degraded]
        states += memory_states(memory_bytes, facts.memory_limit_bytes)
        if facts.database_warning:
            states.append(replace(DATABASE_LIMIT, reason=facts.database_warning))
        down = [each.outcome.message for each in found if each.component.is_critical and not each.outcome.is_well]
        # An unhealthy component without a state of its own, such as a check that hangs, still degrades the service.
        nameless = [
            f"{each.component.name}: {each.outcome.message}"
            for each in found
            if not each.component.is_critical and not each.outcome.is_well and not each.outcome.degraded
        ]
        unserved = filter(None, self._troubles.values())
        reasons = [*down, *nameless, *unserved, *(state.reason for state in states)]
        metadata = {
            **metadata_of(facts, self._about, default, wall_clock.now_ns()),
            "memory_bytes": str(memory_bytes),
            "memory_limit_bytes": str(facts.memory_limit_bytes),
            "degraded_states": ",".join(state.name for state in states),
            "degraded_impact": "; ".join(state.impact for state in states),
            "tcp_address": self.tcp_address,
            "obey_socket": self.obey_socket,
        }
        return v1.HealthDetailsResponse(
            overall_status=v1.NOT_SERVING if down else v1.SERVING,
            components=[_component(each) for each in found],
            metadata=metadata,
            degraded=bool(reasons),
            degraded_reason="; ".join(reasons),
            unusable_runs=await self._examined_runs(),
        )

    async def _examined_runs(self) -> list[v1.UnusableRun]:
        """A disk that does not answer is reported by the components; it does not keep the answer back."""
        runs: list[UnusableRun] = []
        with anyio.move_on_after(CHECK_BOUND_S):
            runs = await self._unusable_runs()
        return [
            v1.UnusableRun(
                name=one.name,
                session_id=one.session_id,
                problem=one.problem,
                remedy=one.remedy,
                can_be_set_aside=one.can_be_set_aside,
            )
            for one in runs
        ]


def metadata_of(facts: EngineFacts, about: About, default_provider: str, now_ns: int) -> Mapping[str, str]:
    """Return the figures of `daemon status`; their names are part of the API."""
    found = facts.found_at_start
    return {
        "version": about.version,
        "pid": str(os.getpid()),
        "started_at": datetime.fromtimestamp(about.started_ns / 1e9, UTC).isoformat(timespec="seconds"),
        "uptime_seconds": str((now_ns - about.started_ns) // 1_000_000_000),
        "socket": about.socket,
        "state_dir": about.state_dir,
        "config_dir": about.config_dir,
        "default_provider": default_provider,
        "turns_at_work": str(facts.turns_at_work),
        "turn_limit": str(facts.turn_limit),
        "waiting_in_line": str(facts.waiting_in_line),
        "live_agents": str(facts.live_agents),
        "agent_memory_bytes": str(facts.agent_memory_bytes),
        "telemetry": "; ".join(about.telemetry_troubles()),
        "found_at_start_adopted": str(found.adopted),
        "found_at_start_ended": str(found.ended),
        "found_at_start_orphans": str(found.orphans),
        "found_at_start_waiting": str(found.waiting),
        "found_at_start_idle": str(found.idle),
        "found_at_start_clients": str(found.clients),
        "found_at_start_locks": str(found.locks),
        **about.notes(),
    }


def _component(found: CheckResult) -> v1.ComponentHealth:
    outcome = found.outcome
    component = v1.ComponentHealth(
        name=found.component.name,
        status=v1.SERVING if outcome.is_well else v1.NOT_SERVING,
        message=outcome.message,
    )
    component.last_check.FromNanoseconds(found.at_ns)
    return component
