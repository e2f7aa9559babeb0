"""One sentence after an answer: whether the session continues, and how to watch it."""

from betcode.rules.rule import COMMAND_TOOLS
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id

_BY_ITSELF = frozenset({"spawning", "running", "backing_off"})  # states of a run that continues without a person
_ALLOWING = frozenset({v1.ALLOW_ONCE, v1.ALLOW_SESSION, v1.ALLOW_WITH_EDIT})


def answer_hint(prompt: v1.PendingPrompt, decision: v1.PermissionDecision.ValueType, run_state: str) -> str:
    """Return the hint. `run_state` is the state before the answer, for a prompt whose agent has ended."""
    attach = f"betcode attach {short_id(prompt.session_id)}"
    if decision == v1.DENY_WITH_INTERRUPT:
        return f"To continue, send a message: {attach}"
    if not prompt.agent_is_gone:
        return f"The session continues; watch it with: {attach}"
    again = ""
    if prompt.permission.tool_name in COMMAND_TOOLS and decision in _ALLOWING:
        again = ". A command is then asked about again, with this answer as the suggestion"
    if run_state in _BY_ITSELF:
        return f"The session continues when its agent asks again; watch it with: {attach}{again}"
    return f"The answer is saved, but the turn was stopped. To continue, send a message: {attach}{again}"
