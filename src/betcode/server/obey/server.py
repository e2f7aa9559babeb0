"""Serve the obey API at its own socket, and retry while another process has that socket."""

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

from betcode.config.settings import ObeySettings
from betcode.domain.obey.activities import ReportStore
from betcode.engine import Engine
from betcode.server.auth.gate import Gate
from betcode.server.listeners.reset_floods import ResetFloods
from betcode.server.listeners.socket_file import SocketFile, SocketTaken, claim_socket_file, watch
from betcode.server.obey.errors import status_of
from betcode.server.reflection import lazy_reflection
from betcode.server.registration import handlers_of
from betcode.server.release import Release
from betcode.server.rpc import Handler, RpcAdapter
from betcode.server.services.admin import AskStop
from obey.local.v1 import local_pb2 as pb

logger = logging.getLogger(__name__)

SERVICE = pb.DESCRIPTOR.services_by_name["LocalDaemonService"]
TRY_AGAIN_S = 2.0
_CALLS_GRACE_S = 2.0
_STREAMS_GRACE_S = 0.5
_LINGER_S = 0.1
_STOP_BOUND_S = 6.0


@dataclass(frozen=True, slots=True)
class ObeyContext:
    """All that is needed to serve it."""

    engine: Engine
    reports: ReportStore
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
    floods: ResetFloods
    umask: int = -1


async def run_obey_server(context: ObeyContext, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
    """Serve until cancelled, also if the socket fails; the first attempt has been made when this has started."""
    is_first = True
    while True:
        try:
            async with claim_socket_file(context.path) as file, _served(context, file):
                context.note("")
                if is_first:
                    task_status.started()
                is_first = False
                await watch((file,))
        except SocketTaken as taken:
            logger.warning("the obey API is not served: %s", taken)
            context.note(str(taken))
        if is_first:
            task_status.started()
        is_first = False
        await anyio.sleep(TRY_AGAIN_S)


@asynccontextmanager
async def _served(context: ObeyContext, file: SocketFile) -> AsyncIterator[None]:
    calls = _Calls(context, context.gate_at(file.address))
    server = aio.server(options=list(context.options))
    server.add_generic_rpc_handlers(
        (calls, context.health, lazy_reflection([SERVICE.full_name, context.health_service])),
    )
    try:
        server.add_insecure_port("unix:" + quote(file.address))
    except RuntimeError as error:
        raise SocketTaken(f"Cannot listen on {file.path}: {error}") from error
    await anyio.to_thread.run_sync(file.made_private)
    await server.start()
    logger.info("listening", extra={"socket": str(file.path)})
    try:
        with context.floods.watching(file.address):
            yield
    finally:
        with anyio.move_on_after(_STOP_BOUND_S, shield=True):
            await calls.end()
            await server.stop(_LINGER_S if calls.are_loaded else None)


class _Calls(grpc.GenericRpcHandler):
    """The calls of the service. Their implementation is imported at the first call, to keep the start fast."""

    def __init__(self, context: ObeyContext, gate: Gate) -> None:
        self._context = context
        self._gate = gate
        self._rpc = RpcAdapter(context.release, status_of, gate)
        self._handlers: Mapping[str, Handler] | None = None

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "Handler | None":
        service, _, name = str(handler_call_details.method).removeprefix("/").partition("/")
        if service != SERVICE.full_name or name not in SERVICE.methods_by_name:
            return None
        if self._handlers is None:
            from betcode.server.obey.calls import implementations

            self._handlers = handlers_of(SERVICE, self._rpc, implementations(self._context, self._gate))
        return self._handlers[name]

    @property
    def are_loaded(self) -> bool:
        return self._handlers is not None

    async def end(self) -> None:
        """Accept no further call; open calls end with the reason."""
        self._rpc.refuse()
        if self.are_loaded:
            await self._rpc.end_calls(_CALLS_GRACE_S)
            await self._rpc.end_streams(_STREAMS_GRACE_S)
            await anyio.sleep(_LINGER_S)
