"""The calls of the obey API for its command line. No call is retried automatically."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from betcode.client.address import reachable
from betcode.client.connection import ClientIdentity, Connection, open_connection
from betcode.client.errors import as_client_errors
from betcode.client.stream import told
from betcode.config.paths import Paths
from obey.local.v1 import local_pb2 as v1
from obey.local.v1.local_pb2_grpc import LocalDaemonServiceStub

if TYPE_CHECKING:
    import grpc

    from obey.local.v1.local_pb2_grpc import LocalDaemonServiceAsyncStub  # known to the stub files only

_QUICK_S = 10.0  # looks and little changes
_START_S = 180.0  # an agent is launched and greeted
_STOP_S = 600.0  # the work at hand may be finished first; the daemon has its own, shorter patience


@dataclass(frozen=True, slots=True)
class ObeyClient:
    """One daemon by its obey socket; what fails is a ClientError whose code is an OBEY-NNNN."""

    connection: Connection

    async def ping(self, timeout_s: float = _QUICK_S) -> v1.PingResponse:
        return await self.connection.call(self._stub.Ping, v1.PingRequest(), retries=0, timeout_s=timeout_s)

    async def state(self, campaign_id: str = "") -> v1.StateResponse:
        """Campaigns and festivals that are known, and the sessions that live."""
        request = v1.StateRequest(campaign_id=campaign_id)
        return await self.connection.call(self._stub.GetState, request, retries=0, timeout_s=_QUICK_S)

    async def shutdown(self) -> bool:
        """Whether the daemon will end; agents at work go on."""
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
        """Whether the same answer had been given before. An agent's own processes cannot give one."""
        call = self._stub.AnswerPermission
        answer = await self.connection.call(call, request, retries=0, timeout_s=_QUICK_S, with_ticket=True)
        return answer.already_answered

    async def send(self, session_id: str, message: str) -> AsyncGenerator[v1.SessionActivityEvent, None]:
        """What comes of a message, to its end; who leaves does not stop it. Hold it in `aclosing`."""
        request = v1.SendMessageRequest(session_id=session_id, message=message)
        call = self._stub.SendMessage(request, metadata=await self.connection.metadata_of_a_person())
        async with aclosing(told(call, v1.SessionActivityEvent)) as activities:
            async for activity in activities:
                yield activity

    async def activities(self, session_id: str, campaign_id: str) -> AsyncGenerator[v1.SessionActivityEvent, None]:
        """Those of one session or of all, from now on: what happens when this has returned is told. Use `aclosing`."""
        request = v1.WatchActivityRequest(session_id=session_id, campaign_id=campaign_id)
        call = self._stub.WatchActivity(request, metadata=self.connection.metadata)
        await _begun(call)
        return told(call, v1.SessionActivityEvent)

    async def statuses(self, session_id: str, campaign_id: str) -> AsyncGenerator[v1.SessionStatusEvent, None]:
        """Those of one session to its end, or of all; likewise."""
        metadata = self.connection.metadata
        call: grpc.aio.UnaryStreamCall[Any, v1.SessionStatusEvent]
        if session_id:
            call = self._stub.WatchSession(v1.WatchSessionRequest(session_id=session_id), metadata=metadata)
        else:
            call = self._stub.WatchAllSessions(v1.WatchAllSessionsRequest(campaign_id=campaign_id), metadata=metadata)
        await _begun(call)
        return told(call, v1.SessionStatusEvent)

    async def execute(self, request: v1.ExecuteRequest) -> AsyncGenerator[v1.ExecuteResponse, None]:
        """What a command of a campaign prints, and how it ended. Hold it in `aclosing`."""
        call = self._stub.Execute(request, metadata=await self.connection.metadata_of_a_person())
        async with aclosing(told(call, v1.ExecuteResponse)) as pieces:
            async for piece in pieces:
                yield piece

    @property
    def _stub(self) -> "LocalDaemonServiceAsyncStub":
        return LocalDaemonServiceStub(self.connection.channel)


async def _begun(call: "grpc.aio.Call") -> None:
    """The daemon has taken it; one that it refuses says so when it is read."""
    async with as_client_errors():
        await call.initial_metadata()


@asynccontextmanager
async def open_obey(places: Paths, socket: Path, identity: ClientIdentity) -> AsyncIterator[ObeyClient]:
    """A channel to the daemon whose obey socket this is; nothing is sent before the first call."""
    here = replace(places, socket=socket, remote=None)
    with reachable(places.ticket_socket) as ticket_socket:
        async with open_connection(here, identity) as connection:
            yield ObeyClient(replace(connection, ticket_socket=ticket_socket))
