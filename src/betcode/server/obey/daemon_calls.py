"""Ping, GetState, Execute, Shutdown, and what other programs report."""

import logging
import socket
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import assert_never

from betcode.campaigns import Campaigns, EventRouter, Executor, Exit, Output
from betcode.domain.errors import InvalidRequest
from betcode.domain.obey.activities import PushedActivity, ReportStore
from betcode.domain.obey.campaign_events import CampaignEvent
from betcode.engine import AgentShutdownPolicy, Engine
from betcode.server.auth.gate import Gate
from betcode.server.obey.bindings import Bindings
from betcode.server.obey.external_activities import pushed
from betcode.server.obey.festivals import festivals_of
from betcode.server.obey.times import moment_ns, span_ns
from betcode.server.obey.views import session_summary
from betcode.server.rpc import Caller, Context, decode
from betcode.server.services.admin import AskStop
from obey.local.v1 import local_pb2 as pb

logger = logging.getLogger(__name__)

_EVENTS_READ = 5_000
_BATCH_LIMIT = 64


class DaemonCalls:
    def __init__(
        self,
        engine: Engine,
        gate: Gate,
        campaigns: Campaigns,
        executor: Executor,
        reports: ReportStore,
        ask_stop: AskStop,
        version: str,
    ) -> None:
        self._engine = engine
        self._gate = gate
        self._campaigns = campaigns
        self._executor = executor
        self._reports = reports
        self._router = EventRouter(reports)
        self._ask_stop = ask_stop
        self._version = version

    async def ping(self, _: Caller, __: pb.PingRequest) -> pb.PingResponse:
        """There is no hub that this daemon would belong to."""
        count = len(await self._campaigns.all())
        return pb.PingResponse(
            version=self._version, hostname=socket.gethostname(), hub_status="disconnected", campaign_count=count
        )

    async def get_state(self, _: Caller, request: pb.StateRequest) -> pb.StateResponse:
        if request.campaign_id:
            campaigns = [await self._campaigns.find(request.campaign_id)]
        else:
            campaigns = await self._campaigns.all()
        ids = {each.id for each in campaigns}
        campaign_id = campaigns[0].id if request.campaign_id else ""
        events = await self._reports.campaign_events(campaign_id, limit=_EVENTS_READ)
        updated = _newest(events)
        answer = pb.StateResponse(festivals=festivals_of(events))
        for each in campaigns:
            state = answer.campaigns.add(id=each.id, name=each.name, root=str(each.root))
            if each.id in updated:
                state.updated_at.FromNanoseconds(updated[each.id])
        bindings = Bindings(self._campaigns)
        for standing in await self._engine.lifecycle.standings(with_ended=False):
            campaign = await bindings.campaign_of(standing)
            if not request.campaign_id or campaign in ids:
                answer.active_sessions.append(session_summary(standing, campaign))
        return answer

    async def execute(self, _: Caller, request: pb.ExecuteRequest, context: Context) -> None:
        """Stream the output of the command; it ends when the caller disconnects."""
        campaign = await self._campaigns.find(request.campaign_id)
        if not request.command:
            raise InvalidRequest("No command is given")
        timeout_s = span_ns(request.timeout) / 1e9
        inherited = await self._engine.login_environment()
        run = self._executor.execute(campaign, [request.command, *request.args], inherited, timeout_s=timeout_s)
        async with aclosing(run) as pieces:
            async for piece in pieces:
                answer = pb.ExecuteResponse()
                match piece:
                    case Output(data, is_error=True):
                        answer.stderr = data
                    case Output(data):
                        answer.stdout = data
                    case Exit():
                        answer.exit.exit_code = piece.code
                        answer.exit.timed_out = piece.timed_out
                        answer.exit.duration.FromMilliseconds(piece.duration_ms)
                    case _:
                        assert_never(piece)
                await context.write(answer.SerializeToString())

    async def shutdown(self, caller: Caller, _: pb.ShutdownRequest) -> pb.ShutdownResponse:
        """Shut down as on SIGTERM: working agents continue. An agent's own processes may not call this."""
        client = await self._gate.admit(caller)
        logger.info("asked to stop by %s", client.client_id)
        await self._ask_stop(AgentShutdownPolicy.IDLE_END)
        return pb.ShutdownResponse(accepted=True)

    async def report_campaign_event(self, _: Caller, request: pb.CampaignEventRequest) -> pb.EventResponse:
        is_new = await self._router.report(
            request.campaign_id, request.event_type, request.payload, at_ns=moment_ns(request.timestamp)
        )
        return _taken(is_new)

    async def report_festival_event(self, _: Caller, request: pb.FestivalEventRequest) -> pb.EventResponse:
        is_new = await self._router.report(
            request.campaign_id,
            request.event_type,
            request.payload,
            at_ns=moment_ns(request.timestamp),
            festival_id=request.festival_id,
            task_id=request.task_id,
            of_festival=True,
        )
        return _taken(is_new)

    async def stream_agent_activity(self, _: Caller, context: Context) -> pb.ActivityAck:
        """Record the activities; those before an invalid one remain recorded."""
        accepted, waiting = 0, list[PushedActivity]()
        try:
            while isinstance(data := await context.read(), bytes):
                waiting.append(pushed(decode(pb.AgentActivityEvent, data)))
                if len(waiting) >= _BATCH_LIMIT:
                    accepted += await self._keep(waiting)
                    waiting = []
        finally:
            accepted += await self._keep(waiting)
        return pb.ActivityAck(accepted=accepted)

    async def _keep(self, activities: list[PushedActivity]) -> int:
        if activities:
            self._engine.lifecycle.refuse_when_full()
            await self._reports.keep_activities(activities)
            self._engine.lifecycle.note_report()
        return len(activities)


def _taken(is_new: bool) -> pb.EventResponse:
    return pb.EventResponse(accepted=True, message="" if is_new else "it was reported just before")


def _newest(events: Sequence[CampaignEvent]) -> Mapping[str, int]:
    newest: dict[str, int] = {}
    for each in events:
        newest[each.campaign_id] = max(each.at_ns, newest.get(each.campaign_id, 0))
    return newest
