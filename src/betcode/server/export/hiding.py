"""Events without what looks like a secret in the inputs of tools. What was said, and what tools gave, stays."""

import json

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct

from betcode.domain.secrets import redacted, redacted_json
from betcode.v1 import agent_pb2 as v1

_WITH_INPUTS = frozenset(
    {"tool_call_start", "permission_request", "permission_reminder", "permission_resolved", "user_question"}
)


def without_secrets(event: v1.AgentEvent) -> v1.AgentEvent:
    """The event, changed in place where it shows what a tool is used with."""
    kind = event.WhichOneof("event")
    if kind in _WITH_INPUTS:
        _hide(getattr(event, kind))
    elif kind == "notice" and event.notice.kind == v1.NOTICE_KIND_GRANT:  # a grant may be a whole command
        event.notice.message = redacted(event.notice.message)
        for name, value in list(event.notice.details.items()):
            event.notice.details[name] = redacted(value)
    return event


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
