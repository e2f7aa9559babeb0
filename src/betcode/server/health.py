"""Is it well? The standard health service, and our own with the details."""

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio
from grpc_health.v1 import health_pb2
from grpc_health.v1._async import HealthServicer

from betcode.domain.errors import BetcodeError
from betcode.server.release import Release
from betcode.server.requests import DefaultProvider
from betcode.server.rim import Caller
from betcode.sessions import EngineFacts, Supervisor
from betcode.v1 import health_pb2 as v1

SERVICES = ("", "AgentService", "betcode.v1.AgentService", "BetCodeHealth", "betcode.v1.BetCodeHealth")
CHECK_EVERY_S = 5.0
_PROBE_BOUND_S = 3.0
POOL_FULL = "All subprocess slots in use"


@dataclass(frozen=True, slots=True)
class About:
    """What the daemon says of itself."""

    version: str
    started_ns: int
    socket: str
    state_dir: str
    config_dir: str
    default_provider: DefaultProvider
    telemetry_troubles: Callable[[], tuple[str, ...]] = tuple  # what of it does not work, a sentence each
    release: Release = field(default_factory=Release)
    notes: Callable[[], Mapping[str, str]] = dict  # further figures, of what is odd now


def components_of(facts: EngineFacts, now_ns: int) -> list[v1.ComponentHealth]:
    """The parts that clients depend on, as the engine sees them."""
    full = facts.turns_at_work >= facts.turn_limit and facts.waiting_in_line >= facts.queue_limit
    pool = f"{facts.turns_at_work}/{facts.turn_limit} slots used, {facts.waiting_in_line} waiting"
    return [
        _component("sqlite", not facts.degraded_reason, facts.degraded_reason, now_ns),
        _component("local_server", True, "", now_ns),
        _component("subprocess_pool", not full, pool, now_ns),
    ]


def is_serving(components: list[v1.ComponentHealth]) -> bool:
    """Whether nothing critical is down; a full pool only degrades."""
    return all(each.status == v1.SERVING for each in components if each.name in ("sqlite", "local_server"))


class Health:
    """Watches over the engine and tells both health services."""

    def __init__(
        self,
        engine: Supervisor,
        about: About,
        probe_storage: Callable[[], Awaitable[None]],
    ) -> None:
        self.servicer = HealthServicer()
        self._engine = engine
        self._about = about
        self._probe_storage = probe_storage

    async def monitor(self) -> None:
        """Keep the standard service's answer true, for ever."""
        while True:
            await self.refresh()
            await anyio.sleep(CHECK_EVERY_S)

    async def refresh(self) -> None:
        await self._tell(components_of(self._engine.facts(), time.time_ns()))

    async def _tell(self, components: list[v1.ComponentHealth]) -> None:
        kinds = health_pb2.HealthCheckResponse
        status = kinds.SERVING if is_serving(components) else kinds.NOT_SERVING
        for service in SERVICES:
            await self.servicer.set(service, status)

    async def details(self, _: Caller, __: v1.HealthDetailsRequest) -> v1.HealthDetailsResponse:
        """Everything, with a trial of the database made for this answer."""
        facts = self._engine.facts()
        now_ns = time.time_ns()
        components = components_of(facts, now_ns)
        if trouble := await self._storage_trouble():
            components[0] = _component("sqlite", False, trouble, now_ns)
        await self._tell(components)
        reasons = [each.message for each in components if each.name == "sqlite" and each.status != v1.SERVING]
        reasons += [POOL_FULL for each in components if each.name == "subprocess_pool" and each.status != v1.SERVING]
        reasons += [facts.database_warning] if facts.database_warning else []
        return v1.HealthDetailsResponse(
            overall_status=v1.SERVING if is_serving(components) else v1.NOT_SERVING,
            components=components,
            metadata=metadata_of(facts, self._about, now_ns),
            degraded=bool(reasons),
            degraded_reason="; ".join(reasons),
        )

    async def _storage_trouble(self) -> str:
        try:
            with anyio.fail_after(_PROBE_BOUND_S):
                await self._probe_storage()
        except BetcodeError as error:
            return error.message
        except TimeoutError:
            return f"Nothing could be written within {_PROBE_BOUND_S:.0f} s"
        return ""


def metadata_of(facts: EngineFacts, about: About, now_ns: int) -> Mapping[str, str]:
    """The figures of `daemon status`; names are part of the API and stay."""
    found = facts.found_at_start
    return {
        "version": about.version,
        "pid": str(os.getpid()),
        "started_at": datetime.fromtimestamp(about.started_ns / 1e9, UTC).isoformat(timespec="seconds"),
        "uptime_seconds": str((now_ns - about.started_ns) // 1_000_000_000),
        "socket": about.socket,
        "state_dir": about.state_dir,
        "config_dir": about.config_dir,
        "default_provider": about.default_provider({}),
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


def _component(name: str, is_well: bool, message: str, now_ns: int) -> v1.ComponentHealth:
    component = v1.ComponentHealth(name=name, status=v1.SERVING if is_well else v1.NOT_SERVING, message=message)
    component.last_check.FromNanoseconds(now_ns)
    return component
