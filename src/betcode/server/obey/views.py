"""Convert the engine's session values to messages of the obey API."""

from betcode.domain.sessions.phase import Phase, Transition
from betcode.domain.values.identifiers import ulid_spelling
from betcode.engine import LifecycleStatus
from betcode.server.obey.names import STATUS, provider_of
from obey.local.v1 import local_pb2 as pb

_DEFAULT_MODEL = "default"  # until the agent reports which one that is
_INT64_MAX = 2**63 - 1


def session_info(standing: LifecycleStatus, campaign_id: str, trouble: str = "") -> pb.SessionInfo:
    """Return the session; `trouble` is the error of its last turn, if it failed and the session continues."""
    new, state, binding = standing.row.new, standing.row.state, standing.bound.binding
    info = pb.SessionInfo(
        id=ulid_spelling(new.session_id),
        campaign_id=campaign_id,
        provider=provider_of(new.provider),
        model=state.model or new.model or _DEFAULT_MODEL,
        agent_name=state.name,
        status=STATUS[standing.phase],
        festival_id=binding.festival_id,
        task_id=binding.task_id,
        tokens_input=min(state.input_tokens, _INT64_MAX),
        tokens_output=min(state.output_tokens, _INT64_MAX),
        max_tokens=state.budget.limits.tokens,
        pid=standing.pid,
        restart_count=binding.restart_count,
        error_message=binding.failure or trouble or standing.bound.crash_note,
        working_dir=new.working_directory,
    )
    info.created_at.FromNanoseconds(new.created_ns)
    if started_ns := binding.started_ns or (0 if binding.failure else standing.bound.first_run_ns):
        info.started_at.FromNanoseconds(started_ns)
    info.last_activity_at.FromNanoseconds(state.updated_ns or new.created_ns)
    if standing.phase.is_terminal:
        info.ended_at.FromNanoseconds(binding.ended_ns or state.updated_ns)
    return info


def session_summary(standing: LifecycleStatus, campaign_id: str) -> pb.SessionSummary:
    new = standing.row.new
    return pb.SessionSummary(
        id=ulid_spelling(new.session_id),
        campaign_id=campaign_id,
        provider=provider_of(new.provider),
        agent_name=standing.row.state.name,
        status=STATUS[standing.phase],
    )


def status_event(transition: Transition) -> pb.SessionStatusEvent:
    event = pb.SessionStatusEvent(
        session_id=ulid_spelling(transition.session),
        previous_status=_status(transition.before),
        new_status=STATUS[transition.after],
        message=transition.words,
    )
    event.timestamp.FromNanoseconds(transition.at_ns)
    return event


def _status(phase: Phase | None) -> pb.SessionStatus.ValueType:
    return pb.SESSION_STATUS_UNSPECIFIED if phase is None else STATUS[phase]
