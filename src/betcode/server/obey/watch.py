"""WatchSession, WatchAllSessions, WatchActivity."""

from contextlib import aclosing

from betcode.campaigns import Campaigns
from betcode.domain.errors import SessionNotFound
from betcode.domain.obey.activities import ReportStore
from betcode.domain.values.identifiers import NotAnIdentifier, Seq, SessionId, parse_session_id
from betcode.engine import Engine
from betcode.engine.follow.growth import GrownLogs, NewReport
from betcode.server.obey.activities import Activities
from betcode.server.obey.bindings import Bindings
from betcode.server.obey.external_activities import activity_of, is_about
from betcode.server.obey.names import session_of
from betcode.server.obey.views import status_event
from betcode.server.rpc import Caller, Context, send_client_id
from betcode.v1 import agent_pb2 as v1
from obey.local.v1 import local_pb2 as pb

_PUSHED_AT_ONCE = 100
_REMEMBERED = 1_000  # sessions whose running tools are cached


class WatchCalls:
    def __init__(self, engine: Engine, campaigns: Campaigns, reports: ReportStore) -> None:
        self._engine = engine
        self._campaigns = campaigns
        self._reports = reports

    async def watch_session(self, caller: Caller, request: pb.WatchSessionRequest, context: Context) -> None:
        """Stream every change from now to the end; nothing for a session that has ended."""
        session = session_of(request.session_id)
        async with self._engine.lifecycle.watching(session) as (watch, phase):
            await send_client_id(caller, context)  # from here on, no change is missed
            is_over = phase is None or phase.is_terminal
            while not is_over:
                transition = await watch.take()
                await context.write(status_event(transition).SerializeToString())
                is_over = transition.after.is_terminal

    async def watch_all_sessions(self, caller: Caller, request: pb.WatchAllSessionsRequest, context: Context) -> None:
        campaign_filter = _CampaignFilter(self._engine, self._campaigns, await self._campaign(request.campaign_id))
        async with self._engine.lifecycle.watching(None) as (watch, _):
            await send_client_id(caller, context)
            while True:
                transition = await watch.take()
                if await campaign_filter.has(transition.session):
                    await context.write(status_event(transition).SerializeToString())

    async def watch_activity(self, caller: Caller, request: pb.WatchActivityRequest, context: Context) -> None:
        """Stream events written from now on, read from the logs: a slow reader delays only itself."""
        session = session_of(request.session_id) if request.session_id else None
        if session is not None:
            await self._engine.row(session)
        campaign = await self._campaign(request.campaign_id)
        campaign_filter = _CampaignFilter(self._engine, self._campaigns, campaign)
        readers: dict[SessionId, tuple[Activities, Seq]] = {}  # with how far each log was read
        with self._engine.lifecycle.growing(session) as watch:
            pushed = await self._reports.newest_activity()
            await send_client_id(caller, context)
            while True:
                items = await watch.take_all()
                for grown in items:
                    if not isinstance(grown, GrownLogs) or not await campaign_filter.has(grown.session):
                        continue
                    known = readers.pop(grown.session, None) or (await self._primed(grown), grown.after)
                    # The log may have grown during the read: mark it again, but do not report it again.
                    readers[grown.session] = await self._send_grown(grown, *known, context)
                while len(readers) > _REMEMBERED:
                    del readers[next(iter(readers))]
                if NewReport() in items:
                    pushed = await self._send_pushed(pushed, request.session_id, campaign_filter, context)

    async def _send_grown(
        self, grown: GrownLogs, activities: Activities, after: Seq, context: Context
    ) -> tuple[Activities, Seq]:
        async with aclosing(self._engine.lifecycle.read(grown.key, max(after, grown.after))) as batches:
            async for batch in batches:
                for data in batch.events:
                    for each in activities.take(v1.AgentEvent.FromString(data)):
                        await context.write(each.SerializeToString())
                after = batch.last
        return activities, after

    async def _primed(self, grown: GrownLogs) -> Activities:
        """Return a translator that has read the earlier events: it knows running tools, and reports a status once."""
        activities = Activities(grown.session)
        earlier = await self._engine.watching.before(grown.session, Seq(grown.after + 1), 0, include_compacted=True)
        for data in earlier.page.events:
            activities.take(v1.AgentEvent.FromString(data))
        return activities

    async def _send_pushed(self, after: int, session: str, campaign_filter: "_CampaignFilter", context: Context) -> int:
        """Send what other programs pushed after that number; return the newest number."""
        while rows := await self._reports.activities_after(after, _PUSHED_AT_ONCE):
            for number, row in rows:
                after = number
                if is_about(row, session) and await campaign_filter.has_text(row.session_id):
                    await context.write(activity_of(row).SerializeToString())
        return after

    async def _campaign(self, text: str) -> str:
        return (await self._campaigns.find(text)).id if text else ""


class _CampaignFilter:
    """Whether sessions belong to the requested campaign."""

    def __init__(self, engine: Engine, campaigns: Campaigns, campaign: str) -> None:
        self._engine = engine
        self._bindings = Bindings(campaigns)
        self._campaign = campaign
        self._known: dict[SessionId, bool] = {}

    async def has(self, session: SessionId) -> bool:
        if not self._campaign:
            return True
        if session not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            try:
                standing = await self._engine.lifecycle.standing(session)
                self._known[session] = await self._bindings.campaign_of(standing) == self._campaign
            except SessionNotFound:
                return False
        return self._known[session]

    async def has_text(self, session: str) -> bool:
        """The same of a session that another program named."""
        try:
            return await self.has(parse_session_id(session))
        except NotAnIdentifier:
            return not self._campaign
