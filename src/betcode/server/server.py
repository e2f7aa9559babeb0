"""The server itself: every service of the contract on one private unix socket, and the ticket socket beside it."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import anyio
import grpc
from anyio.abc import TaskStatus
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from grpc import aio

from betcode.config.paths import Places
from betcode.config.reload import Keeper
from betcode.config.settings import EngineSettings, ListenSettings, ObeySettings
from betcode.domain.obey.activities import Reports
from betcode.domain.release.features import FeatureFlags
from betcode.engine import Supervisor
from betcode.server.admin import AdminCalls, AskStop
from betcode.server.agent import AgentCalls
from betcode.server.audit import AuditCalls
from betcode.server.config import ConfigCalls
from betcode.server.converse import Conversations
from betcode.server.diffs import DiffCalls
from betcode.server.gate import Gate, Tickets, serve_tickets
from betcode.server.grpc_health import SERVICE as HEALTH_SERVICE
from betcode.server.health import About, Health
from betcode.server.health_checks import Listener, components
from betcode.server.http2_sample import FRAME_OPTIONS
from betcode.server.pending import PendingCalls
from betcode.server.policy import PolicyCalls
from betcode.server.providers import ProviderCalls
from betcode.server.rate_limits import RateLimits
from betcode.server.reflection import lazy_reflection
from betcode.server.requests import DefaultProvider
from betcode.server.reset_floods import ResetFloods
from betcode.server.rpc import Handler, Rim, named
from betcode.server.socket_file import SocketFile, SocketTaken, claim_socket_file, watch
from betcode.server.tcp import TcpDoors, serve_tcp
from betcode.server.unimplemented import missing_of, refusing
from betcode.server.version import VersionCalls, version_handlers
from betcode.server.worktree import WorktreeCalls
from betcode.server.worktree_creation import WorktreeMakingCalls
from betcode.server.worktree_removal import WorktreeKeepingCalls
from betcode.server.worktree_switch import SwitchingCalls
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
_CALLS_GRACE_S = 2.0  # for calls that are under way when the daemon stops
_STREAMS_GRACE_S = 0.5  # for streams to be told; who does not read asks again where it was
_LINGER_S = 0.1  # a client that writes to a closed connection may lose what it was told before
_STOP_BOUND_S = 6.0
STREAMS_LIMIT = 256  # of one connection: further calls wait in its client, so that they do not delay other clients
_PENDING_LIMIT = 8_000  # calls of all connections that wait for the event loop; beyond, some are refused
_LEAST_PING_S = 1.0  # clients may ask so often whether we live
_MOST_OF_GRPC_BYTES = 2**31 - 1
_ROOM_FOR_THE_REST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ObeyDoor:
    """What the obey API needs beside what this one has."""

    settings: ObeySettings
    reports: Reports
    environ: Mapping[str, str] = field(repr=False)
    umask: int = -1


@asynccontextmanager
async def serve(
    engine: Supervisor,
    settings: EngineSettings,
    places: Places,
    about: About,
    probe_storage: Callable[[], Awaitable[None]],
    ask_stop: AskStop,
    keeper: Keeper,
    worktrees: Worktrees,
    tcp: TcpDoors | None = None,
    obey: ObeyDoor | None = None,
) -> AsyncIterator["Door"]:
    """Serve until the block is left; then open streams end with UNAVAILABLE, so that their clients come again.

    Raises:
        SocketTaken: another server has one of the sockets, or somebody removed it.
    """
    rim = Rim(about.release)
    tcp = tcp or TcpDoors()
    limits = RateLimits(tcp.settings)
    floods = ResetFloods(about.release.counts)
    async with claim_socket_file(places.socket) as file, claim_socket_file(places.ticket_socket) as ticket_file:
        tickets = Tickets()
        gate = rim.admission = Gate(tickets, engine.processes, file.address, engine.audit.note_agent_call)
        listeners = [Listener(str(file.path), file.address)]
        checks = components(
            engine.facts,
            engine.degraded_reason,
            about.agent_trouble,
            probe_storage,
            places.state_dir,
            lambda: tuple(listeners),
        )
        services = served_services(about.release.features)
        told = services if obey is None else [*services, OBEY_SERVICE]
        health = Health(engine.facts, about, checks, told, engine.unusable_runs, engine.measure)
        built = _built(engine, worktrees, gate, health, rim, about.default_provider, ask_stop, limits)
        built |= ConfigCalls(engine, gate, keeper, places).handlers(rim)
        built |= WorktreeCalls(worktrees).handlers(rim)
        built |= SwitchingCalls(worktrees, about.default_provider, limits).handlers(rim)
        built |= WorktreeMakingCalls(worktrees, gate).handlers(rim)
        built |= WorktreeKeepingCalls(worktrees, gate).handlers(rim)
        built |= ProviderCalls(engine, about.default_provider, about.version_of).handlers(rim)
        built |= DiffCalls(engine, worktrees).handlers(rim)
        versions = VersionCalls(about.release, engine.reported, _largest_request(settings))
        handlers = _handlers(built | version_handlers(versions, rim), about.release.features)
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
                            _serve_obey, obey, engine, places, about, ask_stop, tickets, health, settings, floods
                        )
                    await health.refresh()
                    tasks.start_soon(health.monitor)
                    tasks.start_soon(watch, (file, ticket_file))
                    with floods.watching(file.address):
                        yield Door(rim, health, limits)
                    tasks.cancel_scope.cancel()
            finally:
                with anyio.move_on_after(_STOP_BOUND_S, shield=True):
                    health.board.close()
                    rim.refuse()
                    await rim.end_calls(_CALLS_GRACE_S)
                    await rim.end_streams(_STREAMS_GRACE_S)
                    await anyio.sleep(_LINGER_S)
                    await server.stop(_LINGER_S)  # what is left of calls now has nobody who reads


async def _serve_obey(
    door: ObeyDoor,
    engine: Supervisor,
    places: Places,
    about: About,
    ask_stop: AskStop,
    tickets: Tickets,
    health: Health,
    settings: EngineSettings,
    floods: ResetFloods,
    *,
    task_status: TaskStatus[None],
) -> None:
    # Imported here: a daemon that is told to do without does so.
    from betcode.server.obey.retention import keep_reports
    from betcode.server.obey.server import ObeyFace, keep_serving

    path = Path(door.settings.socket) if door.settings.socket else places.obey_socket
    health.obey_socket = str(path)
    face = ObeyFace(
        engine=engine,
        reports=door.reports,
        settings=door.settings,
        path=path,
        environ=door.environ,
        version=about.version,
        release=about.release,
        ask_stop=ask_stop,
        gate_at=lambda address: Gate(tickets, engine.processes, address, engine.audit.note_agent_call),
        health=health.board.handlers(),
        health_service=HEALTH_SERVICE,
        options=_options(settings),
        note=lambda trouble: health.note(OBEY_SERVICE, trouble and f"The obey interface is not served: {trouble}"),
        umask=door.umask,
        floods=floods,
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(keep_serving, face)
        tasks.start_soon(keep_running, "report retention", keep_reports, door.reports)
        task_status.started()


class Door:
    """Where clients come in. Closed, it lets nobody in any more; who is inside stays until the server ends."""

    def __init__(self, rim: Rim, health: Health, limits: RateLimits) -> None:
        self._rim = rim
        self._health = health
        self._limits = limits

    def use(self, settings: ListenSettings) -> None:
        """Go on with other limits."""
        self._limits.use(settings)

    @property
    def clients(self) -> int:
        """How many clients have a stream open."""
        return self._rim.connected.count

    async def close(self) -> None:
        self._rim.refuse()
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
    wanted = settings.message_limit_bytes + 4 * settings.attachment_limit_bytes + _ROOM_FOR_THE_REST_BYTES
    return min(wanted, _MOST_OF_GRPC_BYTES)


def _built(
    engine: Supervisor,
    worktrees: Worktrees,
    gate: Gate,
    health: Health,
    rim: Rim,
    default_provider: DefaultProvider,
    ask_stop: AskStop,
    limits: RateLimits,
) -> dict[str, Handler]:
    """Every call that this release answers, by its full name."""
    calls = AgentCalls(engine, gate, default_provider, limits, worktrees.names)
    conversations = Conversations(engine, calls, gate, rim.scrutiny)
    pending = PendingCalls(engine)
    v1 = agent_pb2
    agent = {
        "Converse": rim.conversation(conversations.converse),
        "ListSessions": rim.unary(v1.ListSessionsRequest, calls.list_sessions),
        "ResumeSession": rim.stream(v1.ResumeSessionRequest, calls.resume_session),
        "Follow": rim.stream(v1.FollowRequest, calls.follow),
        "ReadEvents": rim.unary(v1.ReadEventsRequest, calls.read_events),
        "Submit": rim.unary(v1.SubmitRequest, calls.submit),
        "RequestInputLock": rim.waiting(v1.InputLockRequest, calls.request_input_lock),
        "AnswerLockRequest": rim.unary(v1.AnswerLockRequestRequest, calls.answer_lock_request),
        "CancelTurn": rim.unary(v1.CancelTurnRequest, calls.cancel_turn),
        "WithdrawMessage": rim.waiting(v1.WithdrawMessageRequest, calls.withdraw_message),
        "CompactSession": rim.waiting(v1.CompactSessionRequest, calls.compact_session),
        "CloseSession": rim.unary(v1.CloseSessionRequest, calls.close_session),
        "DeleteSession": rim.unary(v1.DeleteSessionRequest, calls.delete_session),
        "RenameSession": rim.unary(v1.RenameSessionRequest, calls.rename_session),
        "ExportSession": rim.stream(v1.ExportSessionRequest, calls.export_session),
        "SearchSessions": rim.unary(v1.SearchSessionsRequest, calls.search_sessions),
        "ForkSession": rim.unary(v1.ForkSessionRequest, calls.fork_session),
        "SetBudget": rim.unary(v1.SetBudgetRequest, calls.set_budget),
        "ListPending": rim.unary(v1.ListPendingRequest, pending.list_pending),
        "WatchPending": rim.stream(v1.WatchPendingRequest, pending.watch_pending),
        "AnswerPermission": rim.unary(v1.AnswerPermissionRequest, calls.answer_permission),
        "AnswerQuestion": rim.unary(v1.AnswerQuestionRequest, calls.answer_question),
        "ListSessionGrants": rim.unary(v1.ListSessionGrantsRequest, calls.list_session_grants),
        "SetSessionGrant": rim.unary(v1.SetSessionGrantRequest, calls.set_session_grant),
        "ClearSessionGrants": rim.unary(v1.ClearSessionGrantsRequest, calls.clear_session_grants),
        "ReadBlob": rim.stream(v1.ReadBlobRequest, calls.read_blob),
    }
    built = {f"betcode.v1.AgentService.{name}": handler for name, handler in agent.items()}
    details = rim.unary(betcode_health_pb2.HealthDetailsRequest, health.details)
    stop = rim.unary(admin_pb2.StopDaemonRequest, AdminCalls(gate, ask_stop).stop_daemon)
    audit = AuditCalls(engine)
    policy = PolicyCalls(engine, gate)
    p1 = policy_pb2
    built |= {
        "betcode.v1.PolicyService.CheckPolicy": rim.unary(p1.CheckPolicyRequest, policy.check_policy),
        "betcode.v1.PolicyService.TryPolicy": rim.stream(p1.TryPolicyRequest, policy.try_policy),
        "betcode.v1.PolicyService.InspectProject": rim.unary(p1.InspectProjectRequest, policy.inspect_project),
        "betcode.v1.PolicyService.TrustProject": rim.unary(p1.TrustProjectRequest, policy.trust_project),
        "betcode.v1.PolicyService.ListTrusted": rim.unary(p1.ListTrustedRequest, policy.list_trusted),
    }
    return built | {
        "betcode.v1.AuditService.ListAudit": rim.stream(audit_pb2.ListAuditRequest, audit.list_audit),
        "betcode.v1.AuditService.VerifyAudit": rim.stream(audit_pb2.VerifyAuditRequest, audit.verify_audit),
        "betcode.v1.BetCodeHealth.GetHealthDetails": details,
        "betcode.v1.AdminService.StopDaemon": stop,
    }


def contract_services() -> list[ServiceDescriptor]:
    """Every service of the contract, built or not."""
    return [service for file in _FILES for service in file.services_by_name.values()]


def served_services(features: FeatureFlags) -> list[str]:
    """The full names of those of which at least one call is built, and of the health service."""
    return [
        *(
            each.full_name
            for each in contract_services()
            if not all(missing_of(method, features) for method in each.methods)
        ),
        HEALTH_SERVICE,
    ]


def _handlers(built: Mapping[str, Handler], features: FeatureFlags) -> Sequence[grpc.GenericRpcHandler]:
    """Everything but the health service, whose handlers are not the same on TCP."""
    services = contract_services()
    names = [*(service.full_name for service in services), HEALTH_SERVICE]
    return (*(_service_handler(service, built, features) for service in services), lazy_reflection(names))


def _service_handler(
    service: ServiceDescriptor, built: Mapping[str, Handler], features: FeatureFlags
) -> grpc.GenericRpcHandler:
    handlers: dict[str, Handler] = {}
    for method in service.methods:
        missing = missing_of(method, features)
        handlers[method.name] = refusing(method, missing) if missing else named(method, built[method.full_name])
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


async def _bind_and_start(server: aio.Server, file: SocketFile) -> None:
    try:
        server.add_insecure_port("unix:" + quote(file.address))  # a URI: % and # mean something
    except RuntimeError as error:
        raise SocketTaken(f"{file.path} cannot be listened at: {error}") from error
    await anyio.to_thread.run_sync(file.made_private)
    await server.start()
    logger.info("listening", extra={"socket": str(file.path)})
