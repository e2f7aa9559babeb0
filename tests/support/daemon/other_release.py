"""A daemon of another release: it answers what a test wants to be said about versions, on a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from grpc import aio
from grpc_health.v1 import health_pb2

from betcode._version import __version__
from betcode.config.paths import Paths, choose_paths
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2

Context = aio.ServicerContext[object, object]
ALL = ("streaming_deltas", "permission_bridge", "session_persistence", "event_batching", "context_compaction")


def said(
    *, api: str = "v1", server: str = __version__, least: str = "0.1.0", recommended: str = "0.1.0"
) -> version_pb2.GetVersionResponse:
    limits = version_pb2.VersionConstraints(min_client_version=least, recommended_client=recommended)
    return version_pb2.GetVersionResponse(api_version=api, server_version=server, features=ALL, constraints=limits)


def taken(*warnings: str, granted: tuple[str, ...] = ALL) -> version_pb2.NegotiateResponse:
    return version_pb2.NegotiateResponse(accepted=True, granted_features=granted, warnings=warnings)


@dataclass
class OtherDaemon:
    version: version_pb2.GetVersionResponse = field(default_factory=said)
    outcome: version_pb2.NegotiateResponse = field(default_factory=taken)
    calls: list[str] = field(default_factory=list)  # in the order in which they came
    negotiated: list[version_pb2.NegotiateRequest] = field(default_factory=list)
    events: list[v1.AgentEvent] = field(default_factory=list)
    trailers: tuple[tuple[str, bytes], ...] = ()

    async def get_version(self, _: object, __: Context) -> version_pb2.GetVersionResponse:
        self.calls.append("GetVersion")
        return self.version

    async def negotiate(self, request: version_pb2.NegotiateRequest, _: Context) -> version_pb2.NegotiateResponse:
        self.calls.append("NegotiateCapabilities")
        self.negotiated.append(request)
        return self.outcome

    async def submit(self, request: v1.SubmitRequest, _: Context) -> v1.SubmitResponse:
        self.calls.append("Submit")
        key = request.request.message.idempotency_key
        return v1.SubmitResponse(session_id=request.request.start.new_session_id, message_id=key, sequence=1)

    async def list_sessions(self, _: v1.ListSessionsRequest, context: Context) -> v1.ListSessionsResponse:
        self.calls.append("ListSessions")
        context.set_trailing_metadata(self.trailers)
        return v1.ListSessionsResponse()

    async def compact(self, _: v1.CompactSessionRequest, __: Context) -> v1.CompactSessionResponse:
        self.calls.append("CompactSession")
        return v1.CompactSessionResponse()

    async def follow(self, _: v1.FollowRequest, __: Context) -> AsyncIterator[v1.AgentEventBatch]:
        self.calls.append("Follow")
        yield v1.AgentEventBatch(events=self.events)

    async def resume(self, _: v1.ResumeSessionRequest, __: Context) -> AsyncIterator[v1.AgentEvent]:
        self.calls.append("ResumeSession")
        for event in self.events:
            yield event

    def handlers(self) -> tuple[grpc.GenericRpcHandler, ...]:
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        health = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)

        async def check(_: object, __: Context) -> health_pb2.HealthCheckResponse:
            return health

        versions: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "GetVersion": unary(self.get_version, None, version_pb2.GetVersionResponse.SerializeToString),
            "NegotiateCapabilities": unary(
                self.negotiate,
                version_pb2.NegotiateRequest.FromString,
                version_pb2.NegotiateResponse.SerializeToString,
            ),
        }
        agent: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Submit": unary(self.submit, v1.SubmitRequest.FromString, v1.SubmitResponse.SerializeToString),
            "ListSessions": unary(
                self.list_sessions, v1.ListSessionsRequest.FromString, v1.ListSessionsResponse.SerializeToString
            ),
            "CompactSession": unary(
                self.compact, v1.CompactSessionRequest.FromString, v1.CompactSessionResponse.SerializeToString
            ),
            "Follow": stream(self.follow, v1.FollowRequest.FromString, v1.AgentEventBatch.SerializeToString),
            "ResumeSession": stream(self.resume, v1.ResumeSessionRequest.FromString, v1.AgentEvent.SerializeToString),
        }
        checks: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Check": unary(check, None, health_pb2.HealthCheckResponse.SerializeToString)
        }
        generic = grpc.method_handlers_generic_handler
        return (
            generic("betcode.v1.VersionService", versions),
            generic("betcode.v1.AgentService", agent),
            generic("grpc.health.v1.Health", checks),
        )


@asynccontextmanager
async def serving(root: Path, other: OtherDaemon) -> AsyncIterator[Paths]:
    """The daemon at a socket of its own."""
    paths = choose_paths({}, state_dir=root / "state", config_dir=root / "config")
    for directory in (paths.state_dir, paths.config_dir):
        directory.mkdir(parents=True, exist_ok=True)
    server = aio.server()
    server.add_generic_rpc_handlers(other.handlers())
    server.add_insecure_port(f"unix:{paths.socket}")
    await server.start()
    try:
        yield paths
    finally:
        await server.stop(0)
