"""The JSON output of obey: keys in snake_case, lists that are never null, and a versioned type."""

from collections.abc import Mapping
from datetime import UTC

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from betcode.cli.obey.names import ACTIVITIES, PROVIDERS, STATUSES, name_of
from obey.local.v1 import local_pb2 as v1


def versioned(kind: str, value: Mapping[str, object]) -> dict[str, object]:
    """Return the value with its type: the fields of `obey.session/v1` never change."""
    return {"schema_version": f"obey.{kind}/v1", **value}


def session_json(one: v1.SessionInfo) -> dict[str, object]:
    return {
        "id": one.id,
        "campaign_id": one.campaign_id,
        "provider": name_of(one.provider, PROVIDERS),
        "model": one.model,
        "agent_name": one.agent_name,
        "status": name_of(one.status, STATUSES),
        "festival_id": one.festival_id,
        "task_id": one.task_id,
        "tokens_input": one.tokens_input,
        "tokens_output": one.tokens_output,
        "max_tokens": one.max_tokens,
        "pid": one.pid,
        "restart_count": one.restart_count,
        "created_at": time_of(one, "created_at"),
        "started_at": time_of(one, "started_at"),
        "last_activity_at": time_of(one, "last_activity_at"),
        "ended_at": time_of(one, "ended_at"),
        "error_message": one.error_message,
        "working_dir": one.working_dir,
    }


def summary_json(one: v1.SessionSummary) -> dict[str, object]:
    return {
        "id": one.id,
        "campaign_id": one.campaign_id,
        "provider": name_of(one.provider, PROVIDERS),
        "agent_name": one.agent_name,
        "status": name_of(one.status, STATUSES),
    }


def campaign_json(one: v1.CampaignState) -> dict[str, object]:
    return {"id": one.id, "name": one.name, "root": one.root, "updated_at": time_of(one, "updated_at")}


def festival_json(one: v1.FestivalState) -> dict[str, object]:
    return {
        "id": one.id,
        "campaign_id": one.campaign_id,
        "name": one.name,
        "status": one.status,
        "tasks_total": one.tasks_total,
        "tasks_completed": one.tasks_completed,
        "updated_at": time_of(one, "updated_at"),
    }


def activity_json(one: v1.SessionActivityEvent) -> dict[str, object]:
    return {
        "session_id": one.session_id,
        "type": name_of(one.type, ACTIVITIES),
        "content": one.content,
        "tool_name": one.tool_name,
        "tool_call_id": one.tool_call_id,
        "tool_success": one.tool_success,
        "tokens_input": one.tokens_input,
        "tokens_output": one.tokens_output,
        "timestamp": time_of(one, "timestamp"),
    }


def change_json(one: v1.SessionStatusEvent) -> dict[str, object]:
    return {
        "session_id": one.session_id,
        "previous_status": name_of(one.previous_status, STATUSES),
        "new_status": name_of(one.new_status, STATUSES),
        "message": one.message,
        "timestamp": time_of(one, "timestamp"),
    }


def time_of(message: Message, field: str) -> str:
    """Return the time as RFC 3339 in UTC; empty if the field is not set."""
    value = getattr(message, field)
    if not isinstance(value, Timestamp) or not message.HasField(field):
        return ""
    return value.ToDatetime(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
