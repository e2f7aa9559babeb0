"""Serving the obey API at its own socket: for as long as that can be had, and again when it is free."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import anyio
import grpc
from anyio.abc import TaskStatus
from grpc import aio

from betcode.campaigns import Campaigns, Executor
from betcode.config.settings import ObeySettings
from betcode.domain.activities import Reports
from betcode.server.admin import AskStop
from betcode.server.gate import Gate
from betcode.server.obey.creating import CreatingCalls, Surroundings
from betcode.server.obey.daemon_calls import DaemonCalls
from betcode.server.obey.errors import status_of
from betcode.server.obey.reading import ReadingCalls
from betcode.server.obey.talking import TalkingCalls
from betcode.server.obey.watching import WatchingCalls
from betcode.server.reflection import lazy_reflection
from betcode.server.release import Release
from betcode.server.rim import Handler, Rim, named
from betcode.server.socket_file import SocketFile, SocketTaken, own_socket_file, watch
from betcode.sessions import Supervisor
from obey.local.v1 import local_pb2 as pb

logger = logging.getLogger(__name__)

SERVICE = pb.DESCRIPTOR.services_by_name["LocalDaemonService"]
TRY_AGAIN_S = 2.0
_CALLS_GRACE_S = 2.0
_STREAMS_GRACE_S = 0.5
_LINGER_S = 0.1
_STOP_BOUND_S = 6.0


@dataclass(frozen=True, slots=True)
class ObeyFace:
    """All that is needed to serve it."""

    engine: Supervisor
    reports: Reports
    settings: ObeySettings
    path: Path
    environ: Mapping[str, str]
    version: str
    release: Release
    ask_stop: AskStop
    gate_at: Callable[[str], Gate]  # for those who connect to a socket of that address
    health: grpc.GenericRpcHandler
    health_service: str
    options: Sequence[tuple[str, int]]
    note: Callable[[str], None]  # why it is not served; empty: it is
    umask: int = -1


async def keep_serving(face: ObeyFace, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
    """Serve, whatever becomes of the socket; the first try is over when this has started."""
    is_first = True
    while True:
        try:
            with own_socket_file(face.path) as file:
                async with _served(face, file):
                    face.note("")
                    if is_first:
                        task_status.started()
                    is_first = False
                    await watch((file,))
        except SocketTaken as taken:
            logger.warning("the obey API is not served: %s", taken)
            face.note(str(taken))
        if is_first:
            task_status.started()
        is_first = False
        await anyio.sleep(TRY_AGAIN_S)


@asynccontextmanager
async def _served(face: ObeyFace, file: SocketFile) -> AsyncIterator[None]:
    rim = Rim(face.release, status_of)
    handlers = built(face, rim, face.gate_at(file.address))
    server = aio.server(options=list(face.options))
    methods = {method.name: named(method, handlers[method.name]) for method in SERVICE.methods}
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(SERVICE.full_name, methods),
            face.health,
            lazy_reflection([SERVICE.full_name, face.health_service]),
        )
    )
    try:
        server.add_insecure_port("unix:" + quote(file.address))
    except RuntimeError as error:
        raise SocketTaken(f"{file.path} cannot be listened at: {error}") from error
    file.made_private()
    await server.start()
    logger.info("listening", extra={"socket": str(file.path)})
    try:
        yield
    finally:
        with anyio.move_on_after(_STOP_BOUND_S, shield=True):
            rim.refuse()
            await rim.end_calls(_CALLS_GRACE_S)
            await rim.end_streams(_STREAMS_GRACE_S)
            await anyio.sleep(_LINGER_S)
            await server.stop(_LINGER_S)


def built(face: ObeyFace, rim: Rim, gate: Gate) -> dict[str, Handler]:
    """Every call of the service, by its name."""
    engine, settings = face.engine, face.settings
    campaigns = Campaigns(face.environ, engine.looks)
    executor = Executor(engine.looks, socket=str(face.path), umask=face.umask)
    reading = ReadingCalls(engine, campaigns)
    surroundings = Surroundings(face.environ, str(face.path), settings.start_timeout_s)
    creating = CreatingCalls(engine, campaigns, reading, surroundings)
    talking = TalkingCalls(engine, gate, reading, settings.stop_timeout_s)
    watching = WatchingCalls(engine, campaigns, face.reports)
    daemon = DaemonCalls(engine, gate, campaigns, executor, face.reports, face.ask_stop, face.version)
    return {
        "ReportCampaignEvent": rim.unary(pb.CampaignEventRequest, daemon.report_campaign_event),
        "ReportFestivalEvent": rim.unary(pb.FestivalEventRequest, daemon.report_festival_event),
        "StreamAgentActivity": rim.gathering("call.StreamAgentActivity", daemon.stream_agent_activity),
        "Ping": rim.unary(pb.PingRequest, daemon.ping),
        "GetState": rim.unary(pb.StateRequest, daemon.get_state),
        "Execute": rim.stream(pb.ExecuteRequest, daemon.execute),
        "Shutdown": rim.unary(pb.ShutdownRequest, daemon.shutdown),
        "CreateSession": rim.waiting(pb.CreateSessionRequest, creating.create_session),
        "GetSession": rim.unary(pb.GetSessionRequest, reading.get_session),
        "ListSessions": rim.unary(pb.ListSessionsRequest, reading.list_sessions),
        "SendMessage": rim.stream(pb.SendMessageRequest, talking.send_message),
        "StopSession": rim.waiting(pb.StopSessionRequest, talking.stop_session),
        "RestartSession": rim.waiting(pb.RestartSessionRequest, creating.restart_session),
        "WatchSession": rim.stream(pb.WatchSessionRequest, watching.watch_session),
        "WatchAllSessions": rim.stream(pb.WatchAllSessionsRequest, watching.watch_all_sessions),
        "AnswerPermission": rim.unary(pb.AnswerPermissionRequest, talking.answer_permission),
        "WatchActivity": rim.stream(pb.WatchActivityRequest, watching.watch_activity),
    }
