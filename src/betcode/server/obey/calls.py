"""All calls of the obey API, put together."""

from betcode.campaigns import Campaigns, Executor
from betcode.server.gate import Gate
from betcode.server.obey.create_session import CreateSessionCalls, SessionEnvironment
from betcode.server.obey.daemon_calls import DaemonCalls
from betcode.server.obey.messages import MessageCalls
from betcode.server.obey.server import ObeyContext
from betcode.server.obey.session_queries import SessionQueryCalls
from betcode.server.obey.watch import WatchCalls
from betcode.server.rpc import Handler, RpcAdapter
from obey.local.v1 import local_pb2 as pb


def built(context: ObeyContext, rpc: RpcAdapter, gate: Gate) -> dict[str, Handler]:
    """Every call of the service, by its name."""
    engine, settings = context.engine, context.settings
    campaigns = Campaigns(context.environ, engine.file_io)
    executor = Executor(engine.file_io, socket=str(context.path), umask=context.umask)
    query_calls = SessionQueryCalls(engine, campaigns)
    environment = SessionEnvironment(context.environ, str(context.path), settings.start_timeout_s)
    create_calls = CreateSessionCalls(engine, campaigns, query_calls, environment)
    message_calls = MessageCalls(engine, gate, query_calls, settings.stop_timeout_s)
    watch_calls = WatchCalls(engine, campaigns, context.reports)
    daemon_calls = DaemonCalls(engine, gate, campaigns, executor, context.reports, context.ask_stop, context.version)
    return {
        "ReportCampaignEvent": rpc.unary(pb.CampaignEventRequest, daemon_calls.report_campaign_event),
        "ReportFestivalEvent": rpc.unary(pb.FestivalEventRequest, daemon_calls.report_festival_event),
        "StreamAgentActivity": rpc.client_stream("call.StreamAgentActivity", daemon_calls.stream_agent_activity),
        "Ping": rpc.unary(pb.PingRequest, daemon_calls.ping),
        "GetState": rpc.unary(pb.StateRequest, daemon_calls.get_state),
        "Execute": rpc.stream(pb.ExecuteRequest, daemon_calls.execute),
        "Shutdown": rpc.unary(pb.ShutdownRequest, daemon_calls.shutdown),
        "CreateSession": rpc.long_unary(pb.CreateSessionRequest, create_calls.create_session),
        "GetSession": rpc.unary(pb.GetSessionRequest, query_calls.get_session),
        "ListSessions": rpc.unary(pb.ListSessionsRequest, query_calls.list_sessions),
        "SendMessage": rpc.stream(pb.SendMessageRequest, message_calls.send_message),
        "StopSession": rpc.long_unary(pb.StopSessionRequest, message_calls.stop_session),
        "RestartSession": rpc.long_unary(pb.RestartSessionRequest, create_calls.restart_session),
        "WatchSession": rpc.stream(pb.WatchSessionRequest, watch_calls.watch_session),
        "WatchAllSessions": rpc.stream(pb.WatchAllSessionsRequest, watch_calls.watch_all_sessions),
        "AnswerPermission": rpc.unary(pb.AnswerPermissionRequest, message_calls.answer_permission),
        "WatchActivity": rpc.stream(pb.WatchActivityRequest, watch_calls.watch_activity),
    }
