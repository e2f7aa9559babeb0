"""The calls of the obey API for its command line. No call is retried automatically."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from betcode.client.address import reachable
from betcode.client.connection import ClientIdentity, Connection, open_connection
from betcode.client.errors import as_client_errors
from betcode.client.stream import messages_of
from betcode.config.paths import Paths
from obey.local.v1 import local_pb2 as v1
from obey.local.v1.local_pb2_grpc import LocalDaemonServiceStub

if TYPE_CHECKING:
    import grpc

    from obey.local.v1.local_pb2_grpc import LocalDaemonServiceAsyncStub  # exists only in the stub files

_QUICK_S = 10.0  # for reads and small changes
_START_S = 180.0  # an agent is started and completes its handshake
_STOP_S = 600.0  # the current turn may finish first; the daemon has its own, shorter limit


@dataclass(frozen=True, slots=True)
class ObeyClient:
    """The calls of one daemon on its obey socket; errors are ClientErrors with a code OBEY-NNNN."""

    connection: Connection

    async def ping(self, timeout_s: float = _QUICK_S) -> v1.PingResponse:
        return await self.connection.call(self._stub.Ping, v1.PingRequest(), retries=0, timeout_s=timeout_s)

    async def state(self, campaign_id: str = "") -> v1.StateResponse:
        """Return the known campaigns and festivals, and the live sessions."""
        request = v1.StateRequest(campaign_id=campaign_id)
        return await self.connection.call(self._stub.GetState, request, retries=0, timeout_s=_QUICK_S)

    async def shutdown(self) -> bool:
        """Request a shutdown; return whether the daemon accepts it. Working agents continue."""
        request = v1.ShutdownRequest(graceful=True)
        call = self._stub.Shutdown
        answer = await self.connection.call(call, request, retries=0, timeout_s=_QUICK_S, with_ticket=True)
        return answer.accepted

    async def create(self, request: v1.CreateSessionRequest) -> v1.SessionInfo:
        call = self._stub.CreateSession
        answer = await self.connection.call(call, request, retries=0, timeout_s=_START_S, with_ticket=True)
        return answer.session

    async def get(self, session_id: str) -> v1.SessionInfo:
        request = v1.GetSessionRequest(session_id=session_id)
        return await self.connection.call(self._stub.GetSession, request, retries=0, timeout_s=_QUICK_S)

    async def sessions(self, request: v1.ListSessionsRequest) -> list[v1.SessionInfo]:
        answer = await self.connection.call(self._stub.ListSessions, request, retries=0, timeout_s=_QUICK_S)
        return list(answer.sessions)

    async def stop(self, session_id: str, *, graceful: bool) -> v1.SessionInfo:
        request = v1.StopSessionRequest(session_id=session_id, graceful=graceful)
        call = self._stub.StopSession
        answer = await self.connection.call(call, request, retries=0, timeout_s=_STOP_S, with_ticket=True)
        return answer.session

    async def restart(self, session_id: str, provider_config: dict[str, str]) -> v1.SessionInfo:
        request = v1.RestartSessionRequest(session_id=session_id, provider_config=provider_config)
        call = self._stub.RestartSession
        answer = await self.connection.call(call, request, retries=0, timeout_s=_START_S, with_ticket=True)
        return answer.session

    async def answer(self, request: v1.AnswerPermissionRequest) -> bool:
        """Answer a prompt; return whether the same answer was given before. Processes of an agent cannot answer."""
        call = self._stub.AnswerPermission
        answer = await self.connection.call(call, request, retries=0, timeout_s=_QUICK_S, with_ticket=True)
        return answer.already_answered

    async def send(self, session_id: str, message: str) -> AsyncGenerator[v1.SessionActivityEvent, None]:
        """Send a message and yield its activities; leaving does not stop the turn. Hold it in `aclosing`."""
        request = v1.SendMessageRequest(session_id=session_id, message=message)
        call = self._stub.SendMessage(request, metadata=await self.connection.person_metadata())
        async with aclosing(messages_of(call, v1.SessionActivityEvent)) as activities:
            async for activity in activities:
                yield activity

    async def activities(self, session_id: str, campaign_id: str) -> AsyncGenerator[v1.SessionActivityEvent, None]:
        """Yield activities of one session or of all, starting when this call returns. Hold it in `aclosing`."""
        request = v1.WatchActivityRequest(session_id=session_id, campaign_id=campaign_id)
        call = self._stub.WatchActivity(request, metadata=self.connection.metadata)
        await _accepted(call)
        return messages_of(call, v1.SessionActivityEvent)

    async def statuses(self, session_id: str, campaign_id: str) -> AsyncGenerator[v1.SessionStatusEvent, None]:
        """Yield status events of one session to its end, or of all. Hold it in `aclosing`."""
        metadata = self.connection.metadata
        call: grpc.aio.UnaryStreamCall[Any, v1.SessionStatusEvent]
        if session_id:
            call = self._stub.WatchSession(v1.WatchSessionRequest(session_id=session_id), metadata=metadata)
        else:
            call = self._stub.WatchAllSessions(v1.WatchAllSessionsRequest(campaign_id=campaign_id), metadata=metadata)
        await _accepted(call)
        return messages_of(call, v1.SessionStatusEvent)

    async def execute(self, request: v1.ExecuteRequest) -> AsyncGenerator[v1.ExecuteResponse, None]:
        """Run a command in a campaign; yield its output and its exit. Hold it in `aclosing`."""
        call = self._stub.Execute(request, metadata=await self.connection.person_metadata())
        async with aclosing(messages_of(call, v1.ExecuteResponse)) as pieces:
            async for piece in pieces:
                yield piece

    @property
    def _stub(self) -> "LocalDaemonServiceAsyncStub":
        return LocalDaemonServiceStub(self.connection.channel)


async def _accepted(call: "grpc.aio.Call") -> None:
    """Wait until the daemon has accepted the call; a refusal is raised when the call is read."""
    async with as_client_errors():
        await call.initial_metadata()


@asynccontextmanager
async def open_obey(paths: Paths, socket: Path, identity: ClientIdentity) -> AsyncIterator[ObeyClient]:
    """Open a channel to the daemon with this obey socket; nothing is sent before the first call."""
    here = replace(paths, socket=socket, remote=None)
    with reachable(paths.ticket_socket) as ticket_socket:
        async with open_connection(here, identity) as connection:
            yield ObeyClient(replace(connection, ticket_socket=ticket_socket))
