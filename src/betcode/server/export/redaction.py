"""Remove secrets from the tool inputs of events. Messages and tool results are not changed."""

import json
from collections.abc import Callable

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from betcode.domain.events.event_table import EventTable
from betcode.domain.values.secrets import redacted, redacted_json
from betcode.v1 import agent_pb2 as v1


def without_secrets(event: v1.AgentEvent) -> v1.AgentEvent:
    """Redact secrets in a tool's input, in place, and return the event."""
    hide = REDACTED.handler(event)
    if hide is not None:
        hide(event)
    return event


def _hide_input(event: v1.AgentEvent) -> None:
    _hide(getattr(event, event.WhichOneof("event") or ""))


def _hide_grant(event: v1.AgentEvent) -> None:
    if event.notice.kind == v1.NOTICE_KIND_GRANT:  # a grant may be a whole command
        event.notice.message = redacted(event.notice.message)
        for name, value in list(event.notice.details.items()):
            event.notice.details[name] = redacted(value)


def _hide(message: Message) -> None:
    if isinstance(message, Struct):
        ParseDict(json.loads(redacted_json(json.dumps(MessageToDict(message)))), message)
        return
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for part in value if field.is_repeated else [value]:
                _hide(part)
        elif field.type == FieldDescriptor.TYPE_STRING and not field.name.endswith("_id"):
            hide = redacted_json if field.name.endswith("json") else redacted
            if field.is_repeated:
                value[:] = [hide(text) for text in value]
            else:
                setattr(message, field.name, hide(value))


REDACTED: EventTable[Callable[[v1.AgentEvent], None]] = EventTable(
    "the redaction of exports",
    {
        "tool_call_start": _hide_input,
        "permission_request": _hide_input,
        "permission_reminder": _hide_input,
        "permission_resolved": _hide_input,
        "user_question": _hide_input,
        "notice": _hide_grant,
    },
    ignored=frozenset(
        # Texts of people, agents and tools: the conversation that is exported.
        {"text_delta", "thinking_delta", "user_input", "tool_call_result", "todo_update", "plan_mode", "error"}
        # No text from the input of a tool.
        | {"status_change", "session_info", "usage", "turn_complete", "deprecation", "message_state"}
        | {"input_lock", "presence", "gap", "compaction"}
    ),
)
