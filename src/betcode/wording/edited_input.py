"""Another input for a tool before it is allowed to run, checked before the daemon is asked."""

import json

from betcode.domain.permissions.edited_input import missing_field
from betcode.v1 import agent_pb2 as v1


class NotEdited(Exception):
    """Nothing came of it; the message says why."""


def edited_in_line(request: v1.PermissionRequest, text: str) -> str:
    """The input as JSON: `text` itself, or with `text` as its command.

    Raises:
        NotEdited: it is no JSON object and no command either, or an object without what the tool is about.
    """
    if text.startswith("{"):
        return checked_input(text, request)
    if _is_json(text):
        raise NotEdited("That is JSON, but not an object: give the new command, or the whole input as a JSON object")
    own = own_fields(request)
    if not isinstance(own.get("command"), str):
        raise NotEdited(f"{request.tool_name} has no command: type e and the whole input as JSON, or e alone")
    return json.dumps({**own, "command": text}, ensure_ascii=False)


def own_fields(request: v1.PermissionRequest) -> dict[str, object]:
    """The agent's own input. Raises NotEdited."""
    try:
        value = json.loads(request.input_json)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NotEdited("The input is too long or has an unsupported format for editing here")
    return value


def checked_input(text: str, request: v1.PermissionRequest) -> str:
    """The same text. Raises NotEdited where it is no JSON object, or one without what the tool is about."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        raise NotEdited(f"That is not JSON: {trouble}") from None
    if not isinstance(value, dict):
        raise NotEdited("That is not a JSON object")
    try:
        own = own_fields(request)
    except NotEdited:
        own = {}  # it is not known here: the daemon has it whole
    if (name := missing_field(own, value)) is not None:
        raise NotEdited(f"The input has no {name}, and {request.tool_name} needs one")
    return text


def _is_json(text: str) -> bool:
    """Whether it is a value that nobody means as a command: null, a number, a list, a quoted text."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return text not in ("true", "false")  # these are commands, too
