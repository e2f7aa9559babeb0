"""The server: every service of the contract on one private unix socket, and the ticket socket."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import anyio
import grpc
from anyio.abc import TaskStatus
from google.protobuf.descriptor import FileDescriptor, MethodDescriptor, ServiceDescriptor
from grpc import aio

from betcode.config.paths import Paths
from betcode.config.reload import SettingsReloader
from betcode.config.settings import EngineSettings, ListenSettings, ObeySettings
from betcode.domain.errors import FeatureNotAvailable
from betcode.domain.obey.activities import ReportStore
from betcode.domain.release.features import FeatureFlags
from betcode.engine import Engine
from betcode.server.auth.gate import Gate, Tickets, serve_tickets
from betcode.server.auth.rate_limits import RateLimits
from betcode.server.health.checks import Listener, components
from betcode.server.health.grpc_health import SERVICE as HEALTH_SERVICE
from betcode.server.health.runner import About, Health
from betcode.server.listeners.http2_sample import FRAME_OPTIONS
from betcode.server.listeners.reset_floods import ResetFloods
from betcode.server.listeners.socket_file import SocketFile, SocketTaken, claim_socket_file, watch
from betcode.server.listeners.tcp import TcpListeners, serve_tcp
from betcode.server.reflection import lazy_reflection
from betcode.server.registration import handlers_of
from betcode.server.rpc import RpcAdapter
from betcode.server.services.admin import AdminCalls, AskStop
from betcode.server.services.agent import AgentCalls
from betcode.server.services.audit import AuditCalls
from betcode.server.services.config import ConfigCalls
from betcode.server.services.converse import Conversations
from betcode.server.services.diffs import DiffCalls
from betcode.server.services.pending_calls import PendingCalls
from betcode.server.services.policy import PolicyCalls
from betcode.server.services.providers import ProviderCalls
from betcode.server.services.version import VersionCalls
from betcode.server.services.worktree import WorktreeCalls
from betcode.server.services.worktree_creation import WorktreeCreationCalls
from betcode.server.services.worktree_removal import WorktreeRemovalCalls
from betcode.server.services.worktree_switch import WorktreeSwitchCalls
from betcode.server.unimplemented_methods import unimplemented_error
from betcode.util.background_loops import keep_running
from betcode.v1 import (
    admin_pb2,
    agent_pb2,
    audit_pb2,
    config_pb2,
    gitlab_pb2,
    machine_pb2,
    policy_pb2,
    subagent_pb2,
    tunnel_pb2,
    version_pb2,
    worktree_pb2,
)
from betcode.v1 import health_pb2 as betcode_health_pb2
from betcode.worktrees import Worktrees
from obey.local.v1 import local_pb2

logger = logging.getLogger(__name__)

OBEY_SERVICE = local_pb2.DESCRIPTOR.services_by_name["LocalDaemonService"].full_name
_FILES: tuple[FileDescriptor, ...] = tuple(
    module.DESCRIPTOR
    for module in (
        admin_pb2,
        agent_pb2,
        audit_pb2,
        betcode_health_pb2,
        config_pb2,
        gitlab_pb2,
        machine_pb2,
        policy_pb2,
        subagent_pb2,
        tunnel_pb2,
        version_pb2,
        worktree_pb2,
        local_pb2,
    )
)
_CALLS_GRACE_S = 2.0  # for running calls when the daemon stops
_STREAMS_GRACE_S = 0.5  # for streams to receive the reason; a client that does not read resumes from its position
_LINGER_S = 0.1  # a client that writes to a closed connection may lose messages that were sent before
_STOP_BOUND_S = 6.0
STREAMS_LIMIT = 256  # of one connection: further calls wait in its client, so that they do not delay other clients
_PENDING_LIMIT = 8_000  # calls of all connections that wait for the event loop; beyond, some are refused
_LEAST_PING_S = 1.0  # clients may ask so often whether we live
_MOST_OF_GRPC_BYTES = 2**31 - 1
_OVERHEAD_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ObeyOptions:
    """The additional values that the obey API needs."""

    settings: ObeySettings
    reports: ReportStore
    environ: Mapping[str, str] = field(repr=False)
    umask: int = -1


@asynccontextmanager
async def serve(
    engine: Engine,
    settings: EngineSettings,
    paths: Paths,
    about: About,
    probe_storage: Callable[[], Awaitable[None]],
    ask_stop: AskStop,
    reloader: SettingsReloader,
    worktrees: Worktrees,
    tcp: TcpListeners | None = None,
    obey: ObeyOptions | None = None,
) -> AsyncIterator["ServerHandle"]:
    """Serve until the block ends; then open streams end with UNAVAILABLE, so that their clients reconnect.

    Raises:
        SocketTaken: another server has one of the sockets, or it was removed.
    """
    rpc = RpcAdapter(about.release)
    tcp = tcp or TcpListeners()
    limits = RateLimits(tcp.settings)
    floods = ResetFloods(about.release.counts)
    async with claim_socket_file(paths.socket) as file, claim_socket_file(paths.ticket_socket) as ticket_file:
        tickets = Tickets()
        gate = rpc.admission = Gate(tickets, engine.processes, file.address, engine.audit.note_agent_call)
        listeners = [Listener(str(file.path), file.address)]
        checks = components(
            engine.facts,
            engine.degraded_reason,
            about.agent_trouble,
            probe_storage,
            paths.state_dir,
            lambda: tuple(listeners),
        )
        services = served_services(about.release.features)
        service_names = services if obey is None else [*services, OBEY_SERVICE]
        health = Health(engine.facts, about, checks, service_names, engine.unusable_runs, engine.measure)
        agent = AgentCalls(engine, gate, about.default_provider, limits, worktrees.names)
        diffs = DiffCalls(engine, worktrees)
        implementations = {
            "betcode.v1.AgentService": (
                agent,
                Conversations(engine, agent, gate, rpc.inspector),
                PendingCalls(engine),
                ProviderCalls(engine, about.default_provider, about.version_of),
                diffs,
            ),
            "betcode.v1.WorktreeService": (
                WorktreeCalls(worktrees),
                WorktreeSwitchCalls(worktrees, about.default_provider, limits),
                WorktreeCreationCalls(worktrees, gate),
                WorktreeRemovalCalls(worktrees, gate),
                diffs,
            ),
            "betcode.v1.AdminService": (AdminCalls(gate, ask_stop),),
            "betcode.v1.AuditService": (AuditCalls(engine),),
            "betcode.v1.BetCodeHealth": (health,),
            "betcode.v1.ConfigService": (ConfigCalls(engine, gate, reloader, paths),),
            "betcode.v1.PolicyService": (PolicyCalls(engine, gate),),
            "betcode.v1.VersionService": (VersionCalls(about.release, engine.reported, _largest_request(settings)),),
        }
        handlers = _handlers(rpc, implementations, about.release.features)
        async with serve_tcp(tcp, handlers, health.board, _options(settings), floods) as beyond:
            listeners += beyond
            health.tcp_address = beyond[0].shown if tcp.main is not None else ""
            server = aio.server(options=_options(settings))
            server.add_generic_rpc_handlers((*handlers, health.board.handlers()))
            await _bind_and_start(server, file)
            try:
                async with serve_tickets(ticket_file, tickets, gate), anyio.create_task_group() as tasks:
                    tasks.start_soon(keep_running, "reset floods", floods.watch)
                    if obey is not None:
                        await tasks.start(
                            _serve_obey, obey, engine, paths, about, ask_stop, tickets, health, settings, floods
                        )
                    await health.refresh()
                    tasks.start_soon(health.monitor)
                    tasks.start_soon(watch, (file, ticket_file))
                    with floods.watching(file.address):
                        yield ServerHandle(rpc, health, limits)
                    tasks.cancel_scope.cancel()
            finally:
                with anyio.move_on_after(_STOP_BOUND_S, shield=True):
                    health.board.close()
                    rpc.refuse()
                    await rpc.end_calls(_CALLS_GRACE_S)
                    await rpc.end_streams(_STREAMS_GRACE_S)
                    await anyio.sleep(_LINGER_S)
                    await server.stop(_LINGER_S)  # the remaining calls have no reader now


async def _serve_obey(
    options: ObeyOptions,
    engine: Engine,
    paths: Paths,
    about: About,
    ask_stop: AskStop,
    tickets: Tickets,
    health: Health,
    settings: EngineSettings,
    floods: ResetFloods,
    *,
    task_status: TaskStatus[None],
) -> None:
    # Imported here: a daemon without the obey API does not load it.
    from betcode.server.obey.retention import run_report_retention
    from betcode.server.obey.server import ObeyContext, run_obey_server

    path = Path(options.settings.socket) if options.settings.socket else paths.obey_socket
    health.obey_socket = str(path)
    context = ObeyContext(
        engine=engine,
        reports=options.reports,
        settings=options.settings,
        path=path,
        environ=options.environ,
        version=about.version,
        release=about.release,
        ask_stop=ask_stop,
        gate_at=lambda address: Gate(tickets, engine.processes, address, engine.audit.note_agent_call),
        health=health.board.handlers(),
        health_service=HEALTH_SERVICE,
        options=_options(settings),
        note=lambda trouble: health.note(OBEY_SERVICE, trouble and f"The obey interface is not served: {trouble}"),
        umask=options.umask,
        floods=floods,
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(run_obey_server, context)
        tasks.start_soon(keep_running, "report retention", run_report_retention, options.reports)
        task_status.started()


class ServerHandle:
    """A handle on the running server. When closed, it accepts no new clients; connected ones remain until the server
    ends.
    """

    def __init__(self, rpc: RpcAdapter, health: Health, limits: RateLimits) -> None:
        self._rpc = rpc
        self._health = health
        self._limits = limits

    def use(self, settings: ListenSettings) -> None:
        """Go on with other limits."""
        self._limits.use(settings)

    @property
    def clients(self) -> int:
        """Return how many clients have an open stream."""
        return self._rpc.connected.count

    async def close(self) -> None:
        self._rpc.refuse()
        self._health.board.close()


def _options(settings: EngineSettings) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", _largest_request(settings)),
        ("grpc.so_reuseport", 0),
        ("grpc.http2.min_ping_interval_without_data_ms", int(_LEAST_PING_S * 1000)),
        # Streams that a client resets count until the server has let go of them: one that resets streams in a loop is
        # refused more. Without it such calls fill the queue that all clients share, and theirs are refused instead.
        ("grpc.max_concurrent_streams", STREAMS_LIMIT),
        ("grpc.server.max_pending_requests", _PENDING_LIMIT),
        ("grpc.server.max_pending_requests_hard_limit", 2 * _PENDING_LIMIT),
        *FRAME_OPTIONS,
    ]


def _largest_request(settings: EngineSettings) -> int:
    # An attachment somewhat over its limit must arrive, so that it can be refused by name.
    size = settings.message_limit_bytes + 4 * settings.attachment_limit_bytes + _OVERHEAD_BYTES
    return min(size, _MOST_OF_GRPC_BYTES)


def contract_services() -> list[ServiceDescriptor]:
    """Every service of the contract, built or not."""
    return [service for file in _FILES for service in file.services_by_name.values()]


def served_services(features: FeatureFlags) -> list[str]:
    """The full names of those of which at least one call is built, and of the health service."""
    return [
        *(
            each.full_name
            for each in contract_services()
            if not all(unimplemented_error(method, features) for method in each.methods)
        ),
        HEALTH_SERVICE,
    ]


def _handlers(
    rpc: RpcAdapter, implementations: Mapping[str, Sequence[object]], features: FeatureFlags
) -> Sequence[grpc.GenericRpcHandler]:
    """Return everything but the health service, whose handlers are different on TCP."""
    services = contract_services()
    names = [*(service.full_name for service in services), HEALTH_SERVICE]

    def unimplemented(method: MethodDescriptor) -> FeatureNotAvailable | None:
        return unimplemented_error(method, features)

    return (
        *(
            grpc.method_handlers_generic_handler(
                each.full_name, handlers_of(each, rpc, implementations.get(each.full_name, ()), unimplemented)
            )
            for each in services
        ),
        lazy_reflection(names),
    )


async def _bind_and_start(server: aio.Server, file: SocketFile) -> None:
    try:
        server.add_insecure_port("unix:" + quote(file.address))  # a URI: % and # are special
    except RuntimeError as error:
        raise SocketTaken(f"Cannot listen on {file.path}: {error}") from error
    await anyio.to_thread.run_sync(file.made_private)
    await server.start()
    logger.info("listening", extra={"socket": str(file.path)})
