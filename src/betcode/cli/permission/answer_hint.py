"""What happens after an answer, in one sentence: whether the session goes on by itself, and how it is seen."""

from betcode.rules.rule import COMMAND_TOOLS
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id

_BY_ITSELF = frozenset({"spawning", "running", "backing_off"})  # states of a run that need nobody
_ALLOWING = frozenset({v1.ALLOW_ONCE, v1.ALLOW_SESSION, v1.ALLOW_WITH_EDIT})


def going_on(prompt: v1.PendingPrompt, decision: v1.PermissionDecision.ValueType, run_state: str) -> str:
    """`run_state` is that of the session's agent before the answer, where the one that asked is gone."""
    attach = f"betcode attach {short_id(prompt.session_id)}"
    if decision == v1.DENY_WITH_INTERRUPT:
        return f"Send a message to go on: {attach}"
    if not prompt.agent_is_gone:
        return f"The session goes on; see it with: {attach}"
    again = ""
    if prompt.permission.tool_name in COMMAND_TOOLS and decision in _ALLOWING:
        again = ". A command is asked about again then, with this answer offered"
    if run_state in _BY_ITSELF:
        return f"The session goes on when its agent asks again; see it with: {attach}{again}"
    return f"The answer is kept, but the turn was stopped. Send a message to go on: {attach}{again}"
