"""Build the events that the engine itself emits; all others come from an agent's dialogue.

They have no time yet: whoever writes or sends one calls `stamp`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from betcode.domain.error_codes import ErrorCode
from betcode.domain.events.display import struct_of
from betcode.domain.store.rows import NewSession, PromptRow, SessionState
from betcode.engine.client_name import ClientName, Present
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.core.prompt_decision import PromptDecision

KEPT_ANSWER = "the answer to"  # followed by the request that it was given to


def stamp(event: v1.AgentEvent, now_ns: int) -> v1.AgentEvent:
    """Set the time of an event that has none. An agent's event has the time of its record."""
    if not event.HasField("timestamp"):
        event.timestamp.FromNanoseconds(now_ns)
    return event


def session_info(new: NewSession, state: SessionState, *, is_resumed: bool) -> v1.AgentEvent:
    event = v1.AgentEvent()
    info = event.session_info
    info.session_id = new.session_id
    info.model = state.model or new.model
    info.working_directory = new.working_directory
    info.worktree_id = new.worktree_id
    info.message_count = state.message_count
    info.is_resumed = is_resumed
    info.context_usage_percent = state.context_percent
    info.provider = new.provider
    return event


def user_input(content: str, message_id: str, client_id: str, files: Sequence[v1.StoredAttachment]) -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.user_input.content = content
    event.user_input.message_id = message_id
    event.user_input.client_id = client_id
    event.user_input.attachments.extend(file.filename for file in files)
    event.user_input.stored_attachments.extend(files)
    return event


def message_state(message_id: str, state: v1.MessageState.ValueType, reason: str = "") -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.message_state.message_id = message_id
    event.message_state.state = state
    event.message_state.reason = reason
    return event


def status(state: v1.AgentStatus.ValueType, message: str = "") -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.status_change.status = state
    event.status_change.message = message
    return event


def turn_complete(stop_reason: str, message_ids: Sequence[str] = ()) -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.turn_complete.stop_reason = stop_reason
    event.turn_complete.message_ids.extend(message_ids)
    return event


def partial_text(text: str, message_id: str, block: int, *, thinking: bool) -> v1.AgentEvent:
    event = v1.AgentEvent()
    said = event.thinking_delta if thinking else event.text_delta
    said.text = text
    said.is_complete = said.is_partial = True
    said.message_id = message_id
    said.block = block
    return event


def error(code: ErrorCode, message: str, **details: str) -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.error.code = code
    event.error.message = message
    for name, value in details.items():
        event.error.details[name] = value
    return event


def permission_request(request_id: str, tool_name: str, description: str, input_json: str) -> v1.AgentEvent:
    event = v1.AgentEvent()
    request = event.permission_request
    request.request_id = request_id
    request.tool_name = tool_name
    request.description = description
    request.input_json = input_json
    request.input.CopyFrom(struct_of(input_json))
    return event


def resolved(
    request_id: str,
    resolution: str,
    *,
    decision: v1.PermissionDecision.ValueType = v1.PERMISSION_DECISION_UNSPECIFIED,
    client_id: str = "",
    message: str = "",
) -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.permission_resolved.request_id = request_id
    event.permission_resolved.resolution = resolution
    event.permission_resolved.decision = decision
    event.permission_resolved.client_id = client_id
    event.permission_resolved.message = message
    return event


def superseded(request_id: str, by: str, message: str) -> v1.AgentEvent:
    """Another prompt took the place of this one."""
    event = resolved(request_id, "superseded", message=message)
    event.permission_resolved.superseded_by = by
    return event


def answered_before(row: PromptRow, before: str) -> v1.AgentEvent:
    """A prompt that nobody is shown, since the same was answered before its agent was lost."""
    event = resolved(
        row.request_id,
        "answered",
        decision=v1.PermissionDecision.Value(row.decision),
        client_id=row.answered_by,
        message=row.message or "; ".join(row.answers.values()),
    )
    event.permission_resolved.rule = f"{KEPT_ANSWER} {before}"
    event.permission_resolved.client_type = row.answered_by_type
    event.permission_resolved.grant_pattern = row.grant_pattern
    event.permission_resolved.updated_input_json = row.updated_input
    event.permission_resolved.answers.update(row.answers)
    return event


def answered(request_id: str, decision: PromptDecision, client: ClientName) -> v1.AgentEvent:
    """A person has decided."""
    said = decision.message or "; ".join(decision.answers.values())
    event = resolved(request_id, "answered", decision=decision.value, client_id=client.client_id, message=said)
    event.permission_resolved.client_type = client.client_type
    event.permission_resolved.grant_pattern = decision.grant_pattern
    event.permission_resolved.updated_input_json = decision.updated_input
    event.permission_resolved.answers.update(decision.answers)
    return event


def permission_reminder(row: PromptRow, number: int) -> v1.AgentEvent:
    """It is still open; `number` counts from 1."""
    event = v1.AgentEvent()
    reminder = event.permission_reminder
    reminder.request_id = row.request_id
    reminder.tool_name = row.tool_name
    reminder.description = row.description
    reminder.number = number
    reminder.asked_at.FromNanoseconds(row.asked_ns)
    reminder.expires_at.FromNanoseconds(row.expires_ns)
    return event


def gap(reason: str, bytes_lost: int = 0) -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.gap.reason = reason
    event.gap.bytes_lost = bytes_lost
    return event


def notice(kind: v1.NoticeKind.ValueType, message: str, **details: str) -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.notice.kind = kind
    event.notice.message = message
    for name, value in details.items():
        event.notice.details[name] = value
    return event


def malformed(message: str) -> v1.AgentEvent:
    return notice(v1.NOTICE_KIND_MALFORMED, message)


def degraded(reason: str) -> v1.AgentEvent:
    """Unnumbered; an empty reason says that all is well again."""
    if reason:
        return notice(v1.NOTICE_KIND_DEGRADED, f"The database cannot be written: {reason}", degraded="true")
    return notice(v1.NOTICE_KIND_DEGRADED, "The database can be written again", degraded="false")


def input_lock(holder: ClientName, asking: ClientName, answer_by_ns: int, line: Sequence[str]) -> v1.AgentEvent:
    """Who may type, who asks for it and until when, and who waits; unnamed clients are nobody."""
    event = v1.AgentEvent()
    told = event.input_lock
    told.holder_client_id, told.holder_client_type = holder.client_id, holder.client_type
    told.asking_client_id, told.asking_client_type = asking.client_id, asking.client_type
    told.holder_client_name, told.asking_client_name = holder.shown_as, asking.shown_as
    if answer_by_ns:
        told.answer_by.FromNanoseconds(answer_by_ns)
    told.waiting_client_ids.extend(line)
    return event


def presence(clients: Sequence[Present]) -> v1.AgentEvent:
    """Who follows, and how far each is behind."""
    event = v1.AgentEvent()
    for each in clients:
        event.presence.clients.add(
            client_id=each.client.client_id,
            client_type=each.client.client_type,
            client_name=each.client.shown_as,
            behind=each.behind,
            lagging=each.lagging,
        )
    return event
