"""StreamAgentActivity: activities of agents outside this daemon, reported like those of its own sessions."""

from betcode.domain.errors import InvalidRequest
from betcode.domain.obey.activities import ACTIVITY_EVENTS, PushedActivity
from betcode.domain.values.identifiers import NotAnIdentifier, parse_session_id
from betcode.domain.values.text import shortened
from betcode.server.obey.times import moment_ns
from betcode.util import wall_clock
from obey.local.v1 import local_pb2 as pb

_TYPE = {
    "AGENT_THINKING": pb.ACTIVITY_TYPE_THINKING,
    "AGENT_TOOL_CALL": pb.ACTIVITY_TYPE_TOOL_CALL,
    "AGENT_TOOL_RESULT": pb.ACTIVITY_TYPE_TOOL_RESULT,
    "AGENT_COMPLETION": pb.ACTIVITY_TYPE_COMPLETION,
}
_LIMIT_BYTES = 1024 * 1024  # of one


def pushed(event: pb.AgentActivityEvent) -> PushedActivity:
    """Return the part of an external activity that is stored.

    Raises:
        InvalidRequest: it is not a valid event.
    """
    if event.event_type not in ACTIVITY_EVENTS:
        known = ", ".join(sorted(ACTIVITY_EVENTS))
        raise InvalidRequest(f"Unknown activity {shortened(event.event_type, 100)!a}: use one of {known}")
    if not event.session_id or len(event.session_id) > 256 or not event.session_id.isprintable():
        raise InvalidRequest("An activity needs the id of its session, of at most 256 characters")
    if event.ByteSize() > _LIMIT_BYTES:
        raise InvalidRequest(f"An activity has at most {_LIMIT_BYTES} bytes: cut its output")
    now_ns = wall_clock.now_ns()
    return PushedActivity(
        session_id=event.session_id,
        event_type=event.event_type,
        content=event.content,
        tool_name=event.tool_name,
        tool_call_id=event.tool_call_id,
        tool_arguments=event.tool_arguments,
        tool_output=event.tool_output,
        tool_success=event.tool_success,
        at_ns=moment_ns(event.timestamp) if event.HasField("timestamp") else now_ns,
        received_ns=now_ns,
    )


def activity_of(row: PushedActivity) -> pb.SessionActivityEvent:
    """Return the activity as watchers see it."""
    content = row.content or row.tool_output or row.tool_arguments.decode(errors="replace")
    made = pb.SessionActivityEvent(
        session_id=row.session_id,
        type=_TYPE[row.event_type],
        content=content,
        tool_name=row.tool_name,
        tool_call_id=row.tool_call_id,
        tool_success=row.tool_success,
    )
    made.timestamp.FromNanoseconds(row.at_ns)
    return made


def is_about(row: PushedActivity, session: str) -> bool:
    """Return whether it is about the watched session, in either spelling; an empty one means every session."""
    if not session or row.session_id == session:
        return True
    try:
        return parse_session_id(row.session_id) == parse_session_id(session)
    except NotAnIdentifier:
        return False
