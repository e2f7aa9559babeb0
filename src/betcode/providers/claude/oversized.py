"""Refuses a request in a line that is too long to read, because the agent waits for an answer."""

import re

from betcode.providers.claude.state import State

_REQUEST = re.compile(
    rb'\{\s*"type":\s*"control_request",\s*"request_id":\s*"([^"\\]{1,200})",\s*'
    rb'"request":\s*\{\s*"subtype":\s*"([a-z_]{1,50})"'
)
_REASON = "the request is over the size limit: make it smaller"


def answer_request(beginning: bytes, state: State) -> bool:
    """Whether the line is a request; what it is about is not known, so it is refused, and a use that is shown asks."""
    found = _REQUEST.match(beginning)
    if found is None:
        return False
    request_id = found[1].decode(errors="replace")
    if found[2] == b"hook_callback":
        state.calls[request_id] = ""
    elif request_id not in state.requests:
        state.refused[request_id] = _REASON
    return True
