"""The note about an agent that has sent nothing since the turn started."""

from betcode.v1 import agent_pb2 as v1

SILENT_AFTER_S = 20.0
NO_ANSWER = "no answer from the agent yet"
_ANSWERS = frozenset(
    {"text_delta", "thinking_delta", "tool_call_start", "todo_update", "permission_request", "user_question"}
    | {"plan_mode", "error", "notice", "compaction", "turn_complete"}
)


def is_answer(event: v1.AgentEvent) -> bool:
    """Whether the event shows that the agent works, or why it does not."""
    return event.WhichOneof("event") in _ANSWERS
