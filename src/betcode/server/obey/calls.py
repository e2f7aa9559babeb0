"""The objects that implement the obey API."""

from betcode.campaigns import Campaigns, Executor
from betcode.server.auth.gate import Gate
from betcode.server.obey.create_session import CreateSessionCalls, SessionEnvironment
from betcode.server.obey.daemon_calls import DaemonCalls
from betcode.server.obey.messages import MessageCalls
from betcode.server.obey.server import ObeyContext
from betcode.server.obey.session_queries import SessionQueryCalls
from betcode.server.obey.watch import WatchCalls


def implementations(context: ObeyContext, gate: Gate) -> tuple[object, ...]:
    """Return the objects that implement the methods of the service."""
    engine, settings = context.engine, context.settings
    campaigns = Campaigns(context.environ, engine.file_io)
    executor = Executor(engine.file_io, socket=str(context.path), umask=context.umask)
    query_calls = SessionQueryCalls(engine, campaigns)
    environment = SessionEnvironment(context.environ, str(context.path), settings.start_timeout_s)
    create_calls = CreateSessionCalls(engine, campaigns, query_calls, environment)
    message_calls = MessageCalls(engine, gate, query_calls, settings.stop_timeout_s)
    watch_calls = WatchCalls(engine, campaigns, context.reports)
    daemon_calls = DaemonCalls(engine, gate, campaigns, executor, context.reports, context.ask_stop, context.version)
    return create_calls, query_calls, message_calls, watch_calls, daemon_calls
