"""Parse and check an edited tool input before it is sent to the daemon."""

import json

from betcode.domain.permissions.edited_input import missing_field
from betcode.v1 import agent_pb2 as v1


class InvalidEdit(Exception):
    """The edit is unusable; the message says why."""


def edited_in_line(request: v1.PermissionRequest, text: str) -> str:
    """Return the input as JSON: `text` itself, or the input with `text` as its command.

    Raises:
        InvalidEdit: the text is neither a JSON object nor a command, or the object lacks the tool's main field.
    """
    if text.startswith("{"):
        return checked_input(text, request)
    if _is_json(text):
        raise InvalidEdit("That is JSON, but not an object: give the new command, or the whole input as a JSON object")
    own = own_fields(request)
    if not isinstance(own.get("command"), str):
        raise InvalidEdit(f"{request.tool_name} has no command: type e and the whole input as JSON, or e alone")
    return json.dumps({**own, "command": text}, ensure_ascii=False)


def own_fields(request: v1.PermissionRequest) -> dict[str, object]:
    """Return the agent's input. Raises InvalidEdit."""
    try:
        value = json.loads(request.input_json)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidEdit("The input is too long or has an unsupported format for editing here")
    return value


def checked_input(text: str, request: v1.PermissionRequest) -> str:
    """Return the text. Raises InvalidEdit if it is not a JSON object, or lacks the tool's main field."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        raise InvalidEdit(f"That is not JSON: {trouble}") from None
    if not isinstance(value, dict):
        raise InvalidEdit("That is not a JSON object")
    try:
        own = own_fields(request)
    except InvalidEdit:
        own = {}  # unknown here: only the daemon has the whole input
    if (name := missing_field(own, value)) is not None:
        raise InvalidEdit(f"The input has no {name}, and {request.tool_name} needs one")
    return text


def _is_json(text: str) -> bool:
    """Whether the text is a JSON value that is not a command: null, a number, a list, a quoted text."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return text not in ("true", "false")  # these are also commands
