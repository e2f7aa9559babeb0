"""All calls of the obey API, put together."""

from betcode.campaigns import Campaigns, Executor
from betcode.server.gate import Gate
from betcode.server.obey.create_session import CreatingCalls, Surroundings
from betcode.server.obey.daemon_calls import DaemonCalls
from betcode.server.obey.messages import TalkingCalls
from betcode.server.obey.server import ObeyFace
from betcode.server.obey.session_queries import ReadingCalls
from betcode.server.obey.watch import WatchingCalls
from betcode.server.rpc import Handler, Rim
from obey.local.v1 import local_pb2 as pb


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
