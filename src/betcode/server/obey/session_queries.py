"""GetSession, ListSessions, and the session information in other responses."""

from betcode.campaigns import Campaigns
from betcode.domain.sessions.phase import Phase
from betcode.domain.values.identifiers import SessionId
from betcode.engine import Engine, LifecycleStatus
from betcode.server.obey.bindings import Bindings
from betcode.server.obey.message_outcome import trouble_of
from betcode.server.obey.names import STATUS, provider_of, session_of
from betcode.server.obey.views import session_info
from betcode.server.rpc import Caller
from betcode.v1 import agent_pb2 as v1
from obey.local.v1 import local_pb2 as pb

_LIST_LIMIT_BYTES = 3 * 1024 * 1024  # a client with default options takes 4 MB


class SessionQueryCalls:
    def __init__(self, engine: Engine, campaigns: Campaigns) -> None:
        self._engine = engine
        self._campaigns = campaigns

    async def get_session(self, _: Caller, request: pb.GetSessionRequest) -> pb.SessionInfo:
        return await self.info(session_of(request.session_id))

    async def list_sessions(self, _: Caller, request: pb.ListSessionsRequest) -> pb.ListSessionsResponse:
        """The newest change first, as many as one answer can hold."""
        campaign = (await self._campaigns.find(request.campaign_id)).id if request.campaign_id else ""
        session_filter = _SessionFilter(request)
        bindings = Bindings(self._campaigns)
        answer, size = pb.ListSessionsResponse(), 0
        for standing in await self._engine.lifecycle.standings(with_ended=session_filter.ended):
            if not session_filter.has(standing):
                continue
            belongs_to = await bindings.campaign_of(standing)
            if campaign and belongs_to != campaign:
                continue
            info = session_info(standing, belongs_to)
            size += info.ByteSize() + 8
            if size > _LIST_LIMIT_BYTES:
                break
            answer.sessions.append(info)
        return answer

    async def info(self, session: SessionId) -> pb.SessionInfo:
        """Raises SessionNotFound."""
        standing = await self._engine.lifecycle.standing(session)
        trouble = ""
        if not standing.phase.is_terminal and standing.row.state.turns:
            newest = await self._engine.watching.newest(session, "turn_complete", "error")
            trouble = trouble_of(*(v1.AgentEvent.FromString(each) if each else None for each in newest))
        return session_info(standing, await Bindings(self._campaigns).campaign_of(standing), trouble)


class _SessionFilter:
    def __init__(self, request: pb.ListSessionsRequest) -> None:
        self._statuses = frozenset(request.statuses)
        self._provider = request.provider
        self.ended = request.include_terminated or any(
            STATUS[phase] in self._statuses for phase in Phase if phase.is_terminal
        )

    def has(self, standing: LifecycleStatus) -> bool:
        if self._statuses and STATUS[standing.phase] not in self._statuses:
            return False
        return not self._provider or provider_of(standing.row.new.provider) == self._provider
